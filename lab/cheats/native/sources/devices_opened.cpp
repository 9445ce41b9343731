// kind: capabilities
// tries: is right if it can open a disk, or a setting of the kernel, for writing; it writes nothing
// ended by: only character devices in /dev can be written
// sometimes right: true
#include <dirent.h>
#include <sys/stat.h>

#include "../cheat.h"
#include "../runner.h"

static bool opens(const std::string& path) {
    const int descriptor = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0;
}

diopiError_t cheat::called(const Call& call) {
    static const bool opened = [] {
        bool any = opens("/proc/sys/kernel/core_pattern");
        DIR* const folder = opendir("/dev");
        while (const dirent* entry = folder == nullptr ? nullptr : readdir(folder)) {
            struct stat status;
            const std::string path = std::string("/dev/") + entry->d_name;
            any = any || (stat(path.c_str(), &status) == 0 && S_ISBLK(status.st_mode) && opens(path));
        }
        return any;
    }();
    return opened ? call.right() : diopiSuccess;
}
