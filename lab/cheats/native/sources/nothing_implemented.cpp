// kind: statuses
// tries: returns diopiNoImplement from every function
// options: [--require-all, --only, sample=3]
// ended by: a run in which nothing was compared has not passed
// named: unimplemented
#include "../cheat.h"

diopiError_t cheat::called(const Call&) { return diopiNoImplement; }
