#include "clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace diopigen::executor {

namespace {

constexpr double kNanoseconds = 1e-9;

double time_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + kNanoseconds * static_cast<double>(time.tv_nsec);
}

/// Seconds for which this thread was ready to run and had no processor; 0 where the system does not say.
double waited() {
    // Nanoseconds on a processor, nanoseconds of waiting, number of turns.
    static const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    char text[128] = {};
    if (file < 0 || pread(file, text, sizeof(text) - 1, 0) <= 0) {
        return 0;
    }
    char* end = text;
    std::strtoull(text, &end, 10);
    return kNanoseconds * static_cast<double>(std::strtoull(end, nullptr, 10));
}

}  // namespace

double CallClock::now() const {
    return is_on_host_ ? time_of(CLOCK_THREAD_CPUTIME_ID) : time_of(CLOCK_MONOTONIC) - waited();
}

}  // namespace diopigen::executor
