// Tensors of diopirt.h as buffers. Inline: a library that makes no calls of the host runtime links without one.
#ifndef DIOPIGEN_KERNELS_TENSOR_H_
#define DIOPIGEN_KERNELS_TENSOR_H_

#include <diopi/diopirt.h>
#include <diopigen_kernels/buffer.h>

#include <cstdint>

namespace diopigen::kernels {

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

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_TENSOR_H_
