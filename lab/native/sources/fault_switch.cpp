// Which fault acts is said by the file that DIOPI_SOURCE_FAULTS names, which is mapped into memory: it may change
// between calls. Without it no fault acts.
#include "fault_switch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace diopi_fault {

namespace {

// As much as the largest campaign needs: sources may evaluate places before any file is mapped.
union {
    Shared head;
    unsigned char room[1 << 17];
} unread = {{-1, {0}}};

}  // namespace

Shared* shared = &unread.head;

namespace {

// Before the constructors of other sources run, some of which may hold faults.
__attribute__((constructor(101))) void map_file() {
    const char* file = std::getenv("DIOPI_SOURCE_FAULTS");
    const int opened = file == nullptr ? -1 : open(file, O_RDWR);
    struct stat state {};
    if (opened >= 0 && fstat(opened, &state) == 0 && state.st_size > 0) {
        void* memory = mmap(nullptr, static_cast<size_t>(state.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
        shared = memory == MAP_FAILED ? shared : static_cast<Shared*>(memory);
    }
    if (opened >= 0) {
        close(opened);
    }
}

}  // namespace

}  // namespace diopi_fault
