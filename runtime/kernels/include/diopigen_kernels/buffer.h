// The memory that a kernel uses: tensors, or plain ranges.
#ifndef DIOPIGEN_KERNELS_BUFFER_H_
#define DIOPIGEN_KERNELS_BUFFER_H_

#include <diopi/diopirt.h>
#include <diopigen_kernels/shape.h>

#include <cstdint>
#include <utility>

namespace diopigen::kernels {

/// Whether elements of the dtype are computed with in float: float32 and the two halves.
inline bool isFloat(diopiDtype_t dtype) {
    return dtype == diopi_dtype_float32 || dtype == diopi_dtype_float16 || dtype == diopi_dtype_bfloat16;
}

/// Whether elements of the dtype have fractions.
inline bool isReal(diopiDtype_t dtype) { return isFloat(dtype) || dtype == diopi_dtype_float64; }

enum class Access { read, write, readWrite };

/// A range of device memory that a kernel uses, and how. With `shape` and `stride` it is a tensor of `dtype`, and the
/// rules of the chip about dtypes, layouts and rank hold for it; without, only the one about alignment.
struct Buffer {
    Buffer() {}  // NOLINT: with a defaulted one a vector writes zeros to all of it first
    Buffer(const void* start, uint64_t size, Access use) : pointer(start), bytes(size), access(use) {}

    const void* pointer = nullptr;
    uint64_t bytes = 0;
    Access access = Access::read;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    bool isTensor = false;
    Shape shape;
    Shape stride;  ///< in elements
    Order order;  ///< of a tensor that is seen with other dimensions in front: which one of its own each is; else empty

    /// The same range as a tensor.
    Buffer tensor(diopiDtype_t elementType, Shape sizes, Shape strides) const {
        Buffer described = *this;
        described.dtype = elementType;
        described.isTensor = true;
        described.shape = std::move(sizes);
        described.stride = std::move(strides);
        return described;
    }
};

/// Null with 0 bytes is an empty buffer, and an optional tensor that is not there.
inline Buffer reads(const void* pointer, uint64_t bytes) { return {pointer, bytes, Access::read}; }
inline Buffer writes(void* pointer, uint64_t bytes) { return {pointer, bytes, Access::write}; }
inline Buffer updates(void* pointer, uint64_t bytes) { return {pointer, bytes, Access::readWrite}; }

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_BUFFER_H_
