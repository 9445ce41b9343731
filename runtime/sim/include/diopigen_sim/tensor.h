// A launch with tensors of diopirt.h. Inline: the simulated device itself needs no host runtime.
#ifndef DIOPIGEN_SIM_TENSOR_H_
#define DIOPIGEN_SIM_TENSOR_H_

#include <diopi/diopirt.h>
#include <diopigen_kernels/tensor.h>
#include <diopigen_sim/device_functions.h>
#include <diopigen_sim/launch.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::sim {

/// A tensor that a kernel uses, and how.
struct TensorUse {
    diopiConstTensorHandle_t tensor;
    Access access;
};
inline TensorUse reads(diopiConstTensorHandle_t tensor) { return {tensor, Access::read}; }
inline TensorUse writes(diopiTensorHandle_t tensor) { return {tensor, Access::write}; }
inline TensorUse updates(diopiTensorHandle_t tensor) { return {tensor, Access::readWrite}; }

/// launch() on the stream of a context, with tensors as its buffers, in this order.
inline Status launch(diopiContextHandle_t ctx, const char* name, std::initializer_list<TensorUse> tensors,
                     std::function<void(const Kernel&)> kernel) {
    diopiStreamHandle_t stream = nullptr;
    if (diopiGetStream(ctx, &stream) != diopiSuccess) {
        return {Code::invalidArgument, std::string(name) + ": the context gives no stream"};
    }
    std::vector<Buffer> buffers;
    for (const TensorUse& use : tensors) {
        buffers.emplace_back();
        if (kernels::bufferOf(use.tensor, use.access, &buffers.back()) != diopiSuccess) {
            return {Code::invalidArgument,
                    std::string(name) + ": tensor " + std::to_string(buffers.size() - 1) + " cannot be read"};
        }
    }
    return launch(stream, name, std::move(buffers), std::move(kernel));
}

/// What an operator answers: what the chip cannot do is left to a fallback. The text becomes that of
/// diopigenSimGetLastErrorString, which a vendor's diopiGetLastErrorString can hand on.
inline diopiError_t errorOf(const Status& status) {
    if (!status.ok()) {
        diopigenSimSetLastErrorString(status.text().c_str());
    }
    switch (status.code()) {
        case Code::ok:
            return diopiSuccess;
        case Code::unsupported:
            return diopiNoImplement;
        case Code::unsupportedDtype:
            return diopiDtypeNotSupported;
        default:
            return diopiErrorOccurred;
    }
}

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_TENSOR_H_
