// kind: endings
// tries: ends the process with the status of success while it is loaded
// ended by: the process must report that it is ready
// named: ended its process|exit status 0
#include <unistd.h>

#include "../cheat.h"

__attribute__((constructor)) static void load() { _exit(0); }
