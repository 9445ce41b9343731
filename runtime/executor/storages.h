// Memory of the tensors of a call.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "content.h"
#include "device.h"

namespace diopigen::executor {

/// Copy `n` of a call has the bytes [start, start + bytes) of a storage rotated to the left by n * step.
struct Rotation {
    std::uint32_t storage = 0;
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::uint64_t step = 0;
};

struct Storage {
    diopiTensorHandle_t base = nullptr;
    std::uint64_t bytes = 0;
    bool on_host = false;
    char* pages = nullptr;  // of this process, where the call is no copy; null on a device
};

void destroy(const Runtime& runtime, const std::vector<Storage>& storages);

/// The storages of one call, freed with it. Those of the host are in pages of this process, and those of a copy of a
/// call, which is timed, in memory of the host runtime.
class Storages {
  public:
    explicit Storages(Device& device) : device_(device) {}
    /// Those of copy `number` of a call. They take over those of an earlier copy, and use the ones of the right size.
    Storages(Device& device, std::uint64_t number, std::vector<Rotation> rotations, std::vector<Storage> earlier)
        : device_(device),
          number_(number),
          rotations_(std::move(rotations)),
          earlier_(std::move(earlier)),
          is_copy_(true) {}
    ~Storages();
    Storages(const Storages&) = delete;
    Storages& operator=(const Storages&) = delete;

    void read(Reader& frame);
    void write(Writer& answer) const;
    diopiTensorHandle_t base(std::size_t index) const { return storages_.at(index).base; }
    /// Leaves them to the caller; what pages hold stays until the end of this object.
    std::vector<Storage> release() { return std::exchange(storages_, {}); }

  private:
    void read_pages(Reader& frame, std::uint32_t count);
    void read_copy(const Content& content);
    void create_pages(Storage& storage, const Content& content);
    void create_on_device(Storage& storage, const Content& content);
    std::string rotated_content(const char* content, std::uint64_t bytes) const;

    Device& device_;
    std::uint64_t number_ = 0;
    std::vector<Rotation> rotations_;
    std::vector<Storage> earlier_;
    bool is_copy_ = false;
    std::vector<Storage> storages_;
};

}  // namespace diopigen::executor
