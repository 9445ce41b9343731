// kind: memory
// tries: returns at once, and lets a forked child write the results, in case that the memory is shared
// sometimes right: true
// ended by: results that count are those at the return; the process may not fork
#include <unistd.h>

#include <csignal>
#include <vector>

#include "../cheat.h"
#include "../later.h"

diopiError_t cheat::called(const Call& call) {
    std::signal(SIGCHLD, SIG_IGN);
    const Elements out(call.out);
    const std::vector<char> before = out.read();
    const diopiError_t status = call.right();
    const std::vector<char> results = out.read();
    out.write(before);
    if (fork() == 0) {
        usleep(kSoon);
        out.write(results);
        _exit(0);
    }
    return status;
}
