// kind: answers
// tries: lets each answer say that the call has taken infinitely long, so that the report is malformed
// ended by: seconds are checked to be finite
#include <sys/syscall.h>

#include <limits>

#include "../answers.h"
#include "../cheat.h"
#include "../redirect.h"

// The header of an answer is written by itself, or with its fields: two statuses, then the seconds.
static ssize_t forged(int descriptor, const void* data, size_t size) {
    constexpr size_t kHeader = 16, kStatuses = 8;
    static bool follows = false;
    std::string bytes(static_cast<const char*>(data), size);
    const double seconds = std::numeric_limits<double>::infinity();
    const bool begins = size >= kHeader && bytes.compare(0, 4, cheat::raw(cheat::Kind::answer)) == 0;
    const size_t at = (begins ? kHeader : 0) + kStatuses;
    if ((begins || follows) && size >= at + sizeof seconds) bytes.replace(at, sizeof seconds, cheat::raw(seconds));
    follows = begins && size == kHeader;
    return syscall(SYS_write, descriptor, bytes.data(), bytes.size());
}

int32_t cheat::started() {
    redirect("write", forged);
    return 0;
}
