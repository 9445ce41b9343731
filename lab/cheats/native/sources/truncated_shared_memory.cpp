// kind: memory
// tries: truncates every file in memory that the process has open, so that other processes fail at their next access
// ended by: a seal on the size of shared memory
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call&) {
    for (int descriptor = 0; descriptor < kDescriptors; ++descriptor) {
        struct statfs system;
        // Seals are a property of files in memory that have no name.
        if (fstatfs(descriptor, &system) != 0 || system.f_type != TMPFS_MAGIC) continue;
        if (fcntl(descriptor, F_GET_SEALS) >= 0) (void)!ftruncate(descriptor, 0);
    }
    return diopiSuccess;
}
