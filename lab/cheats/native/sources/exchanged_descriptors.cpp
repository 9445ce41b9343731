// kind: answers
// tries: moves every descriptor to the number of the next one
// ended by: a time limit for each case
// options: [--limit, time=1, --only, sample=1]
#include <unistd.h>

#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    for (int descriptor = 0; descriptor + 1 < kDescriptors; ++descriptor) dup2(descriptor + 1, descriptor);
    return diopiSuccess;
}
