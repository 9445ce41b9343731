// kind: answers
// tries: writes answers to all cases to every descriptor in each call, and leaves
// ended by: an answer counts once, for the case that is open; expected results are compared outside of the process
#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    writeToAll(forgedAnswers());
    _exit(0);
}
