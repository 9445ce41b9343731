// Tensors of diopirt.h as buffers. Inline: a library that makes no calls of the host runtime links without one.
#ifndef DIOPIGEN_KERNELS_TENSOR_H_
#define DIOPIGEN_KERNELS_TENSOR_H_

#include <diopi/diopirt.h>
#include <diopigen/adaptor/host_services.h>
#include <diopigen_kernels/buffer.h>

#include <cstdint>

namespace diopigen::kernels {

/// What a host says about a tensor.
struct TensorFacts {
    const void* data = nullptr;
    diopiSize_t shape{}, stride{};
    int64_t elementSize = 0;  ///< in bytes
    diopiDtype_t dtype = diopi_dtype_unsupported;
    diopiDevice_t device = diopi_device;
    bool isSparse = false;  ///< then it has no data and no strides
};

/// Asks the host, which may have one function for all of it. Returns what the host returns.
inline diopiError_t inspect(diopiConstTensorHandle_t tensor, TensorFacts* facts) {
    if (diopiHostInspectTensor != nullptr) {
        return diopiHostInspectTensor(tensor, &facts->data, &facts->shape, &facts->stride, &facts->elementSize,
                                      &facts->dtype, &facts->device, &facts->isSparse);
    }
    diopiError_t status = diopiGetTensorDevice(tensor, &facts->device);
    status = status == diopiSuccess ? diopiIsTensorSparse(tensor, &facts->isSparse) : status;
    status = status == diopiSuccess ? diopiGetTensorShape(tensor, &facts->shape) : status;
    status = status == diopiSuccess ? diopiGetTensorDtype(tensor, &facts->dtype) : status;
    status = status == diopiSuccess ? diopiGetTensorElemSize(tensor, &facts->elementSize) : status;
    if (status == diopiSuccess && !facts->isSparse) {
        status = diopiGetTensorStride(tensor, &facts->stride);
        status = status == diopiSuccess ? diopiGetTensorDataConst(tensor, &facts->data) : status;
    }
    return status;
}

/// Describes the elements of a dense tensor in a buffer without any: from the first one, which has the lowest address,
/// to the end of the last.
inline void describeElements(const TensorFacts& facts, Buffer* buffer) {
    const diopiSize_t shape = facts.shape, stride = facts.stride;
    buffer->dtype = facts.dtype;
    buffer->isTensor = true;
    buffer->shape.assign(shape.data, shape.data + shape.len);
    buffer->stride.assign(stride.data, stride.data + stride.len);
    int64_t last = 0;
    for (int64_t i = 0; i < shape.len; ++i) {
        if (shape.data[i] == 0) {
            return;
        }
        last += (shape.data[i] - 1) * stride.data[i];
    }
    buffer->pointer = facts.data;
    buffer->bytes = static_cast<uint64_t>((last + 1) * facts.elementSize);
}

/// The buffer of a dense tensor. A null handle gives an empty one. Returns what the host returns.
inline diopiError_t bufferOf(diopiConstTensorHandle_t tensor, Access access, Buffer* buffer) {
    *buffer = Buffer();
    buffer->access = access;
    if (tensor == nullptr) {
        return diopiSuccess;
    }
    TensorFacts facts;
    const diopiError_t status = inspect(tensor, &facts);
    if (status != diopiSuccess || facts.isSparse) {
        return status != diopiSuccess ? status : diopiErrorOccurred;
    }
    describeElements(facts, buffer);
    return diopiSuccess;
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_TENSOR_H_
