// kind: answers
// tries: reads what is waiting at every descriptor, so that cases are lost
// ended by: a time limit for each case, and a number in each frame
// options: [--limit, time=1, --only, sample=1]
#include <fcntl.h>
#include <unistd.h>

#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    char block[4096];
    for (int descriptor = 0; descriptor < kDescriptors; ++descriptor) {
        const int flags = fcntl(descriptor, F_GETFL);
        if (flags < 0 || isatty(descriptor)) continue;
        fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
        while (read(descriptor, block, sizeof block) > 0) {
        }
        fcntl(descriptor, F_SETFL, flags);
    }
    return diopiSuccess;
}
