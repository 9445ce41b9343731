// kind: answers
// tries: announces an answer of 2 GiB and sends it, so that the process that compares runs out of memory
// ended by: an answer may be as long as its call allows
// options: [--limit, time=20, --only, sample=1]
// seconds: 120
#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    const std::string block(1 << 20, 'x');
    for (int descriptor = 3; descriptor < kDescriptors && call.number == 0; ++descriptor) {
        struct stat status;
        if (fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) continue;
        const std::string head = header(Kind::answer, uint64_t{2} << 30);
        if (write(descriptor, head.data(), head.size()) != static_cast<ssize_t>(head.size())) continue;
        for (int k = 0; k < 2048 && write(descriptor, block.data(), block.size()) > 0; ++k) {
        }
    }
    return diopiSuccess;
}
