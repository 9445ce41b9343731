// kind: files
// tries: leaves a file in /dev, for the next run
// ended by: only devices in /dev can be written
#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    append("/dev/diopi-cheat-runs", "run\n");
    return 0;
}
