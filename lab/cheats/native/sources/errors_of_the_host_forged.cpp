// kind: answers
// tries: sends an error of the host runtime in each call, for which some cases are not counted
// ended by: an error in place of an answer is a crash
#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    writeToAll(frame(Kind::error, field("host") + field("there is no such tensor")));
    return diopiSuccess;
}
