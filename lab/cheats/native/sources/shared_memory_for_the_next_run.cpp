// kind: files
// tries: leaves a file in shared memory that tells the next run of this one
// ended by: files that the process may not write
#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    append("/dev/shm/diopi-cheat-runs", "run\n");
    return 0;
}
