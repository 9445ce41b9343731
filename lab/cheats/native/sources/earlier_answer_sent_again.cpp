// kind: answers
// tries: records its answers by redirecting write, and sends the last one in the next call, before its own
// sometimes right: true
// ended by: an answer that was not asked for ends the process
#include <sys/syscall.h>
#include <unistd.h>

#include "../answers.h"
#include "../cheat.h"
#include "../redirect.h"

static std::string last;
static int stream = -1;

static ssize_t recorded(int descriptor, const void* data, size_t size) {
    const std::string bytes(static_cast<const char*>(data), size);
    if (size == 16 && bytes.compare(0, 4, cheat::raw(cheat::Kind::answer)) == 0) {
        last.clear();
        stream = descriptor;
    }
    if (descriptor == stream) last += bytes;
    return syscall(SYS_write, descriptor, data, size);
}

int32_t cheat::started() {
    redirect("write", recorded);
    return 0;
}

diopiError_t cheat::called(const Call& call) {
    // With the results of the call before, of the same function and shape in some cases.
    if (!last.empty()) syscall(SYS_write, stream, last.data(), last.size());
    return call.right();
}
