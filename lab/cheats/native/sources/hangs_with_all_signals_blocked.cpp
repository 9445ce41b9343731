// kind: endings
// tries: blocks and ignores all signals, and never returns
// ended by: a time limit for each case, and SIGKILL
// named: has not returned within
// options: [--limit, time=1, --only, sample=1]
#include <unistd.h>

#include <csignal>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    for (int signal = 1; signal < 32; ++signal) std::signal(signal, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    for (;;) sleep(1);
}
