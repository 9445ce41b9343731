// kind: files
// tries: leaves 20,000 folders within one another in its folder for temporary files
// ended by: removal that does not recurse
// seconds: 240
#include <sys/stat.h>

#include <cstdlib>

#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    const char* const temporary = std::getenv("TMPDIR");
    const std::string before = contents("/proc/self/cwd");
    if (temporary == nullptr || chdir(temporary) != 0) return 0;
    for (int depth = 0; depth < 20000; ++depth) {
        if (mkdir("d", 0700) != 0 || chdir("d") != 0) break;
    }
    return 0;
}
