// kind: capabilities
// tries: is right if it sees the command line of the process that reports
// ended by: a process namespace in which it is not visible
// sometimes right: true
#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call& call) {
    static const bool isTest = runner() != 0;
    return isTest ? call.right() : diopiSuccess;
}
