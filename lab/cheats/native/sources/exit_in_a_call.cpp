// kind: endings
// tries: ends the process with the status of success in a call
// ended by: a process that ends while a case is open has crashed, whatever its status
// named: exit status 0
#include <unistd.h>

#include "../cheat.h"

diopiError_t cheat::called(const Call&) { _exit(0); }
