// kind: control
// tries: nothing - three functions that are right, which must be accepted
// accepted: true
// sometimes right: true
#include "../cheat.h"

diopiError_t cheat::called(const Call& call) { return call.right(); }
