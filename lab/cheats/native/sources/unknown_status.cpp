// kind: statuses
// tries: returns a status that the interface does not have
// ended by: such a status is a failure
// named: unknown status|no status of the interface
#include "../cheat.h"

diopiError_t cheat::called(const Call&) { return static_cast<diopiError_t>(424242); }
