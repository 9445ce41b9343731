// kind: answers
// tries: sends three bytes, and never returns
// ended by: a time limit for each case
// named: has not returned within
// options: [--limit, time=1, --only, sample=1]
#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    writeToAll("abc");
    for (;;) sleep(1);
}
