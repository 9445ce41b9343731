// Tensors of diopirt.h as buffers of a launch. Inline: the simulated device itself needs no host runtime.
#ifndef DIOPIGEN_SIM_TENSOR_H_
#define DIOPIGEN_SIM_TENSOR_H_

#include <diopi/diopirt.h>
#include <diopigen_sim/device_functions.h>
#include <diopigen_sim/launch.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::sim {

/// The buffer of a tensor, from its first element to the end of its last one; the first has the lowest address. A
/// null handle gives an empty buffer. Returns what the host returns.
inline diopiError_t bufferOf(diopiConstTensorHandle_t tensor, Access access, Buffer* buffer) {
    *buffer = Buffer{};
    buffer->access = access;
    if (tensor == nullptr) {
        return diopiSuccess;
    }
    diopiSize_t shape{};
    diopiSize_t stride{};
    int64_t elementSize = 0;
    const void* data = nullptr;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    for (const diopiError_t status : {diopiGetTensorShape(tensor, &shape), diopiGetTensorStride(tensor, &stride),
                                      diopiGetTensorDtype(tensor, &dtype), diopiGetTensorElemSize(tensor, &elementSize),
                                      diopiGetTensorDataConst(tensor, &data)}) {
        if (status != diopiSuccess) {
            return status;
        }
    }
    buffer->dtype = dtype;
    buffer->isTensor = true;
    buffer->shape.assign(shape.data, shape.data + shape.len);
    buffer->stride.assign(stride.data, stride.data + stride.len);
    int64_t last = 0;
    for (int64_t i = 0; i < shape.len; ++i) {
        if (shape.data[i] == 0) {
            return diopiSuccess;
        }
        last += (shape.data[i] - 1) * stride.data[i];
    }
    buffer->pointer = data;
    buffer->bytes = static_cast<uint64_t>((last + 1) * elementSize);
    return diopiSuccess;
}

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
        if (bufferOf(use.tensor, use.access, &buffers.back()) != diopiSuccess) {
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
