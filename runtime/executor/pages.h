// Memory of the tensors of a call on the host, in pages that cannot be written unless the function may do so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diopigen::executor {

/// Bytes at either end of a storage that belong to none of its tensors.
inline constexpr std::size_t kGuard = 512;

/// A write to memory that the call may not write: the number of the storage, and the byte from its start.
struct Violation {
    std::uint32_t storage;
    std::int64_t byte;
};

/// The pages of one call after the other, at the same addresses for calls of the same sizes.
///
/// While they are locked, inputs can be read only, and so can the page before or behind the elements of an output: the
/// one behind where the elements end at a multiple of 64 bytes. A write to one of these is recorded and then carried
/// out, so that the call goes on.
class Pages {
  public:
    Pages() = default;
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    /// Memory for so many bytes of a storage, the next in number; valid until `clear`. Nothing moves after `reserve`.
    char* add(std::size_t bytes, bool is_writable);
    /// Makes room for storages of these sizes. Throws std::bad_alloc.
    void reserve(const std::vector<std::size_t>& sizes);
    /// Counts a storage that is elsewhere.
    void skip();
    void lock();
    /// Returns what was written meanwhile, one for each page at most.
    std::vector<Violation> unlock();
    void clear();

  private:
    char* memory_ = nullptr;
    std::size_t size_ = 0;
    std::size_t used_ = 0;
};

}  // namespace diopigen::executor
