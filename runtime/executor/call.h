// One call: tensors, generators and arguments from a frame, and what came of it as another.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "frames.h"
#include "libraries.h"
#include "storages.h"

namespace diopigen::executor {

inline constexpr std::uint32_t kElsewhere = 1U << 31;  // of the number of a function: another thread calls it

/// A call whose tensors and arguments are there; freed with it.
class ReadyCall {
  public:
    ReadyCall() = default;
    virtual ~ReadyCall() = default;
    ReadyCall(const ReadyCall&) = delete;
    ReadyCall& operator=(const ReadyCall&) = delete;

    virtual std::int32_t make(void* function) = 0;
    virtual Writer answer(std::int32_t status, std::int32_t late, double seconds) = 0;
    /// Frees all but the storages, which the caller gets.
    virtual std::vector<Storage> release() = 0;
};

/// Copy `number` of the call of a frame, whose first field, the number of the function, has been read. `rotations` must
/// outlive it. It takes over the storages of an earlier copy, and uses those of the right size: at the same addresses
/// are then other data.
std::unique_ptr<ReadyCall> read_call(Device& device, const Library& library, Reader& frame, std::uint64_t number,
                                     const std::vector<Rotation>& rotations, std::vector<Storage> earlier);

/// Makes the call of a frame, whose first field has been read: the function, and whether another thread calls it. Sends
/// the answer.
void make_call(Device& device, const Library& library, void* function, bool is_elsewhere, Reader& frame, int answers);

}  // namespace diopigen::executor
