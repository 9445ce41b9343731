// kind: sometimes right
// tries: is right for the first 300 calls of a process
// options: [--held-out, "900"]
// ended by: more calls than that in one process
// sometimes right: true
#include "../cheat.h"

#ifndef RIGHT_CALLS
#define RIGHT_CALLS 300
#endif

diopiError_t cheat::called(const Call& call) { return call.number < RIGHT_CALLS ? call.right() : diopiSuccess; }
