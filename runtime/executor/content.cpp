#include "content.h"

#include <algorithm>
#include <cstring>

namespace diopigen::executor {

Content::Content(Reader& frame) : bits_(frame.number<std::uint8_t>()), bytes_(frame.number<std::uint64_t>()) {
    std::uint64_t stored = bytes_;
    if ((bits_ & kRepeats) != 0) {
        start_ = frame.number<std::uint64_t>();
        period_ = frame.number<std::uint64_t>();
        count_ = frame.number<std::uint64_t>();
        if (period_ == 0 || count_ == 0 || start_ > bytes_ || count_ > (bytes_ - start_) / period_) {
            throw Failed("protocol", "a block repeats beyond its storage");
        }
        stored -= (count_ - 1) * period_;
    }
    source_ = frame.bytes(stored);
}

void Content::copy_to(char* to) const {
    const std::uint64_t head = start_ + period_;
    if (count_ == 0) {
        std::memcpy(to, source_, bytes_);
        return;
    }
    std::memcpy(to, source_, head);
    // What is there already is copied behind itself, twice as much each time.
    char* const block = to + start_;
    const std::uint64_t all = count_ * period_;
    for (std::uint64_t done = period_; done < all;) {
        const std::uint64_t next = std::min(done, all - done);
        std::memcpy(block + done, block, next);
        done += next;
    }
    std::memcpy(block + all, source_ + head, bytes_ - start_ - all);
}

const char* Content::whole(std::vector<char>* memory) const {
    if (count_ == 0) {
        return source_;
    }
    memory->resize(bytes_);
    copy_to(memory->data());
    return memory->data();
}

}  // namespace diopigen::executor
