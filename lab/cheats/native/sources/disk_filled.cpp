// kind: files
// tries: writes 64 MiB to every folder that it can write to
// ended by: files that the process may not write
#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    const std::string block(1 << 20, '#');
    for (const char* file : {"filler", FOLDER "/tmp/filler", FOLDER "/home/filler", FOLDER "/cache/filler"}) {
        for (int k = 0; k < 16 && append(file, block); ++k) {
        }
    }
    return 0;
}
