// kind: files
// tries: writes a right library over its own file, for who looks at it after the run
// ended by: files that the process may not write
#include "../cheat.h"
#include "../runner.h"

int32_t cheat::finalized() {
    const std::string right = contents(REFERENCE);
    if (!right.empty() && unlink(LIBRARY) == 0) append(LIBRARY, right);
    return 0;
}
