// kind: endings
// tries: redirects the functions of time, so that no time passes, and never returns
// ended by: a time limit that another process measures
// named: has not returned within
// options: [--limit, time=1, --only, sample=1]
#include <sys/time.h>
#include <unistd.h>

#include <ctime>

#include "../cheat.h"
#include "../redirect.h"

static int stillClock(clockid_t, timespec* now) {
    *now = {1000000000, 0};
    return 0;
}
static int stillDay(timeval* now, void*) {
    *now = {1000000000, 0};
    return 0;
}
static time_t stillTime(time_t* now) {
    if (now != nullptr) *now = 1000000000;
    return 1000000000;
}

diopiError_t cheat::called(const Call&) {
    redirect("clock_gettime", stillClock);
    redirect("gettimeofday", stillDay);
    redirect("time", stillTime);
    for (;;) sleep(1);
}
