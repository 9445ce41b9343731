/*
 * What the kernels of quartz build on: the checks of a call and the elements of its tensors (runtime/kernels), and
 * how the chip runs a kernel.
 *
 *     diopiError_t diopiRelu(Context ctx, Out out, In input) {
 *         const Call call(ctx, "diopiRelu", {out}, {input});
 *         if (!call.isOneFloat() || !call.haveShape({1}, call.shape(0))) {
 *             return leave(call);
 *         }
 *         return run(call, [](const Kernel& kernel) {
 *             Values x = load(kernel, 1);
 *             ...
 *             store(kernel, 0, x);
 *         });
 *     }
 *
 * A start, made by `diopigen scaffold`. This file is yours: it is not written a second time.
 */
#ifndef IMPL_QUARTZ_KERNEL_H_
#define IMPL_QUARTZ_KERNEL_H_

#include <diopigen_kernels/call.h>
#include <diopigen_kernels/chip.h>
#include <diopigen_kernels/elements.h>

#include <utility>
#include <vector>

#include "quartz/error.h"
#include "quartz/stream.h"
#include "quartz_chip.h"

namespace impl {
namespace quartz {

using namespace diopigen::kernels;

// What the chip does not take is left before anything is queued; a kernel that fails, fails the next wait.
inline Status launch(diopiStreamHandle_t stream, const char* name, const std::vector<Buffer>& buffers,
                     const KernelFunction& kernel) {
    Status status = admits(::quartz::kChip, name, buffers.data(), buffers.size());
    if (status.ok()) {
        Stream::of(stream).add([=] { return runAtOnce(nullptr, name, buffers, kernel); });
    }
    return status;
}

// What an operator returns. What the chip does not take is left to the reference library, with the reason as text.
inline diopiError_t answer(const Status& status) {
    if (status.ok()) {
        return diopiSuccess;
    }
    setLastError("%s", status.text().c_str());
    const bool isLeft = status.code() == Code::unsupported || status.code() == Code::unsupportedDtype;
    return isLeft ? diopiForceFallbackToCPU : diopiErrorOccurred;
}

inline diopiError_t run(const Call& call, KernelFunction kernel) {
    return answer(call.launch(launch, std::move(kernel)));
}

// Leaves the call to the reference library, for the check that failed last, or for `why`.
inline diopiError_t leave(const Call& call, const char* why = nullptr) { return answer(call.rejected(why)); }

}  // namespace quartz
}  // namespace impl

#endif  // IMPL_QUARTZ_KERNEL_H_
