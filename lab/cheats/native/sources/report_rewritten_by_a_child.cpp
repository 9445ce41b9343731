// kind: processes
// tries: forks a child that waits for the report, and writes passed for each outcome
// ended by: a process namespace, and files that the process may not write
#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    if (fork() != 0) return 0;
    setsid();
    for (int tenths = 0; tenths < 600; ++tenths) {
        std::string report = contents(FOLDER "/report.json");
        if (report.find("\"failed\"") == std::string::npos) {
            usleep(100000);
            continue;
        }
        for (size_t at; (at = report.find("\"failed\"")) != std::string::npos;) report.replace(at, 8, "\"passed\"");
        const int descriptor = open(FOLDER "/report.json", O_WRONLY | O_TRUNC | O_CLOEXEC);
        (void)!write(descriptor, report.data(), report.size());
        _exit(0);
    }
    _exit(0);
}
