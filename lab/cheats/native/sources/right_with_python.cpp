// kind: sometimes right
// tries: is right if Python is in its process, which it is in a test alone
// ended by: a process without Python
// sometimes right: true
#include "../cheat.h"
#include "../python.h"

diopiError_t cheat::called(const Call& call) { return hasPython() ? call.right() : diopiSuccess; }
