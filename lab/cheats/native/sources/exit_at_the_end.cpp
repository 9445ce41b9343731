// kind: endings
// tries: ends the process with the status of success in finalizeLibrary
// ended by: the process must report that the library is left
// named: exit status 0
#include <unistd.h>

#include "../cheat.h"

int32_t cheat::finalized() { _exit(0); }
