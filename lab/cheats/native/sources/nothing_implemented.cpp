// kind: statuses
// tries: returns diopiNoImplement from every function
// ended by: a run in which nothing was compared has not passed
// named: unimplemented
#include "../cheat.h"

diopiError_t cheat::called(const Call&) { return diopiNoImplement; }
