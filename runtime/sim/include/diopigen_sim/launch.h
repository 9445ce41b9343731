// Kernels of the simulated device: a lambda, and the buffers that it reads and writes.
//
//     const Status status = launch(stream, "diopiAdd", {reads(a, bytes), writes(out, bytes)}, [=](const Kernel& k) {
//         const float* from = k.in<float>(0);
//         float* to = k.out<float>(1);
//         ...
//     });
//
// The lambda runs on the worker thread of the stream, after launch() has returned: it captures by value. Device
// pointers do not work in it; it asks for those that the device itself uses. So whatever a kernel touches is named.
#ifndef DIOPIGEN_SIM_LAUNCH_H_
#define DIOPIGEN_SIM_LAUNCH_H_

#include <diopi/diopirt.h>
#include <diopigen_sim/shape.h>
#include <diopigen_sim/status.h>
#include <diopigen_sim/stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace diopigen::sim {

enum class Access { read, write, readWrite };

/// A range of device memory that a kernel uses, and how. With `shape` and `stride` it is a tensor of `dtype`, and the
/// rules of the chip about dtypes, layouts and rank hold for it; without, only the one about alignment.
struct Buffer {
    const void* pointer = nullptr;
    uint64_t bytes = 0;
    Access access = Access::read;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    bool isTensor = false;
    Shape shape{};
    Shape stride{};  ///< in elements

    /// The same range as a tensor.
    Buffer tensor(diopiDtype_t elementType, Shape sizes, Shape strides) const {
        Buffer made = *this;
        made.dtype = elementType;
        made.isTensor = true;
        made.shape = std::move(sizes);
        made.stride = std::move(strides);
        return made;
    }
};

/// Null with 0 bytes is an empty buffer, and an optional tensor that is not there.
inline Buffer reads(const void* pointer, uint64_t bytes) { return {pointer, bytes, Access::read}; }
inline Buffer writes(void* pointer, uint64_t bytes) { return {pointer, bytes, Access::write}; }
inline Buffer updates(void* pointer, uint64_t bytes) { return {pointer, bytes, Access::readWrite}; }

/// What a running kernel sees of its buffers, by their position in the launch.
class Kernel {
  public:
    Kernel(const SmallVector<void*, 8>& addresses, const std::vector<Buffer>& buffers)
        : addresses_(addresses), buffers_(buffers) {}

    std::size_t count() const { return addresses_.size(); }
    const Buffer& buffer(std::size_t position) const { return buffers_.at(position); }

    /// Null for an empty buffer. A position that there is not fails the kernel, and so the stream.
    template <class Element>
    const Element* in(std::size_t position) const {
        return static_cast<const Element*>(address(position));
    }
    /// The same, to be written. A buffer that was declared as read fails the kernel.
    template <class Element>
    Element* out(std::size_t position) const {
        return static_cast<Element*>(writable(position));
    }

  private:
    void* address(std::size_t position) const;
    void* writable(std::size_t position) const;

    const SmallVector<void*, 8>& addresses_;
    const std::vector<Buffer>& buffers_;
};

/// A kernel is queued, or, if that costs more than the kernel (its buffers have 4 KiB at most, and its stream is idle),
/// it may run on the calling thread before launch() returns. Not under any check of the environment, nor with delays.
enum class When { later, atOnceIfSmall };

/// Queues a kernel. Everything is checked before it returns, and a failure queues nothing: the stream, every range
/// (memory of the stream's device, allocated, large enough), and what the chip can do (chip.h). `name` is that of the
/// operator; behind a slash it may say which of its kernels this is ("diopiSoftmax/max").
Status launch(StreamHandle stream, const char* name, std::vector<Buffer> buffers,
              std::function<void(const Kernel&)> kernel, When when = When::later);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_LAUNCH_H_
