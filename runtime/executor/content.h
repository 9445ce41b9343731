// Bytes of a storage as a frame has them: each of them, or a block that repeats.
#pragma once

#include <cstdint>
#include <vector>

#include "frames.h"

namespace diopigen::executor {

/// Bits of a storage.
inline constexpr std::uint8_t kOnHost = 1;
inline constexpr std::uint8_t kIsWritable = 2;
inline constexpr std::uint8_t kRepeats = 4;

/// The first fields of a storage, and its bytes; valid as long as the frame.
class Content {
  public:
    /// Reads them. Throws `Failed` where the bytes are not those of the storage.
    explicit Content(Reader& frame);

    bool is_on_host() const { return (bits_ & kOnHost) != 0; }
    bool is_writable() const { return (bits_ & kIsWritable) != 0; }
    std::uint64_t bytes() const { return bytes_; }
    /// Writes all bytes.
    void copy_to(char* to) const;
    /// All bytes, in `memory` if a block repeats.
    const char* whole(std::vector<char>* memory) const;

  private:
    std::uint8_t bits_;
    std::uint64_t bytes_;
    /// Bytes before the block, in the block, and how often it comes.
    std::uint64_t start_ = 0;
    std::uint64_t period_ = 0;
    std::uint64_t count_ = 0;
    const char* source_ = nullptr;
};

}  // namespace diopigen::executor
