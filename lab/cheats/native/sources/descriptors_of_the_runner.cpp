// kind: processes
// tries: writes a forged summary to the descriptors of the process that reports
// ended by: a process namespace in which it is not visible
#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call&) {
    const pid_t process = runner();
    for (int number = 1; process != 0 && number < 32; ++number) {
        const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
        const int descriptor = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (descriptor < 0) continue;
        if (!isatty(descriptor)) (void)!write(descriptor, "\nforged: 999 passed\n", 20);
        close(descriptor);
    }
    return diopiSuccess;
}
