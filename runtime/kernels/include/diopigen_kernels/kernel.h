// A kernel as a function of its buffers, which the host calls where it can reach the memory of the device: a device
// that shares the host's memory, and the simulated one.
#ifndef DIOPIGEN_KERNELS_KERNEL_H_
#define DIOPIGEN_KERNELS_KERNEL_H_

#include <diopigen_kernels/buffer.h>
#include <diopigen_kernels/shape.h>
#include <diopigen_kernels/status.h>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace diopigen::kernels {

struct Chip;

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
    void* address(std::size_t position) const {
        (void)buffers_.at(position);
        return addresses_[position];
    }
    void* writable(std::size_t position) const {
        if (buffers_.at(position).access == Access::read) {
            failForWriting(position);
        }
        return addresses_[position];
    }
    [[noreturn]] static void failForWriting(std::size_t position);

    const SmallVector<void*, 8>& addresses_;
    const std::vector<Buffer>& buffers_;
};

/// A kernel that a launch takes. It may run after the launch has returned: it captures by value.
using KernelFunction = std::function<void(const Kernel&)>;

/// A kernel of any type by reference, for a launch that may run it before it returns: a KernelFunction, which takes
/// memory of its own, is created only where the kernel is kept for later.
class KernelReference {
  public:
    template <typename Function>
    explicit KernelReference(Function& function)
        : function_(&function),
          run_([](void* of, const Kernel& kernel) { (*static_cast<Function*>(of))(kernel); }),
          move_([](void* of) { return KernelFunction(std::move(*static_cast<Function*>(of))); }) {}
    explicit KernelReference(KernelFunction& function)
        : function_(function ? &function : nullptr),
          run_([](void* of, const Kernel& kernel) { (*static_cast<KernelFunction*>(of))(kernel); }),
          move_([](void* of) { return std::move(*static_cast<KernelFunction*>(of)); }) {}

    /// Whether there is a kernel.
    explicit operator bool() const { return function_ != nullptr; }
    void operator()(const Kernel& kernel) const { run_(function_, kernel); }
    /// The kernel itself. Nothing may follow.
    KernelFunction move() const { return move_(function_); }

  private:
    void* function_;
    void (*run_)(void*, const Kernel&);
    KernelFunction (*move_)(void*);
};

/// Runs a kernel on the calling thread: the launch of a device whose memory the host reaches, and whose work is done
/// when a call returns. `unsupported` or `unsupportedDtype`, and nothing has happened, where `chip` does not take the
/// buffers (chip.h); null takes all. `kernelFailed` with its text where the kernel throws.
Status runAtOnce(const Chip* chip, const char* name, const std::vector<Buffer>& buffers, const KernelFunction& kernel);

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_KERNEL_H_
