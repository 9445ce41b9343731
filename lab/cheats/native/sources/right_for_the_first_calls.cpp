// kind: sometimes right
// tries: is right for the first 300 calls of a process
// options: [--held-out, "900"]
// ended by: more calls than that in one process
// sometimes right: true
#include "../cheat.h"

diopiError_t cheat::called(const Call& call) { return call.number < 300 ? call.right() : diopiSuccess; }
