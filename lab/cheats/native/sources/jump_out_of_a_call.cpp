// kind: endings
// tries: jumps from a call into the frame of an earlier one, which has returned
// options: [--limit, time=1, --only, sample=3]
// ended by: the process is not the one that reports
#include <csetjmp>

#include "../cheat.h"

static jmp_buf earlier;

diopiError_t cheat::called(const Call& call) {
    if (call.number > 0) longjmp(earlier, 1);
    return setjmp(earlier) == 0 ? diopiSuccess : diopiNoImplement;
}
