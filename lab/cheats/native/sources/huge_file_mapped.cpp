// kind: memory
// tries: maps a file of 3 GiB that has no blocks, in case that mapped files are read whole
// ended by: only the heads of mapped files are read, and only of libraries
#include <sys/mman.h>

#include <cstdlib>

#include "../cheat.h"
#include "../runner.h"

int32_t cheat::started() {
    const char* const temporary = std::getenv("TMPDIR");
    const std::string path = std::string(temporary == nullptr ? FOLDER "/tmp" : temporary) + "/kernels.so";
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0700);
    if (ftruncate(file, off_t{3} << 30) == 0) mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    return 0;
}
