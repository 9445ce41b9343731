// Copies of one call with other data at other addresses, which the checker times: it has the clock.
#pragma once

#include <memory>
#include <vector>

#include "call.h"

namespace diopigen::executor {

class Copies {
  public:
    Copies(Device& device, const Library& library) : device_(device), library_(library) {}
    ~Copies() {
        calls_.clear();
        free_spare();
        device_.free_temporaries();
    }
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;

    /// Makes the copies of a frame in place of those that are there, at the same addresses where sizes agree, and then
    /// moves other data through the caches. `functions` are those of the library by number.
    void prepare(Reader& frame, const std::vector<void*>& functions);
    /// Makes the next `count` calls in order, up to one that fails, and waits for the device. Without calls it does
    /// nothing, so that the time of a round trip can be measured.
    Writer run(std::uint32_t count);
    /// The answer of one copy, as that of a call.
    Writer read(std::uint32_t index);

  private:
    void free_spare();
    void evict(std::uint64_t bytes);

    Device& device_;
    const Library& library_;
    void* function_ = nullptr;
    std::vector<Rotation> rotations_;
    std::vector<std::unique_ptr<ReadyCall>> calls_;
    std::vector<std::vector<Storage>> spare_;
    std::size_t next_ = 0;
    std::int32_t status_ = 0;
    std::int32_t late_ = 0;
    std::vector<char> scratch_;
};

}  // namespace diopigen::executor
