// Dense operands in terms of copies: a device with memory of its own brings another copy_elements.
#include "diopi_core/dense.h"

#include "diopi_core/raw_elements.h"

namespace diopigen::core {

namespace {

// A row-major tensor over plain memory. `strides` is room for its strides.
Tensor dense_tensor(const Tensor& like, Dtype dtype, void* data, int64_t* strides) {
    Tensor result = like;
    result.data = data;
    result.dtype = dtype;
    result.strides = strides;
    int64_t stride = 1;
    for (int64_t i = like.rank; i-- > 0;) {
        strides[i] = stride;
        stride *= like.shape[i];
    }
    return result;
}

bool is_usable(const Tensor& tensor, Dtype dtype) {
    return tensor.dtype == dtype && is_contiguous(tensor) &&
           reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(size_of(dtype)) == 0;
}

}  // namespace

void* detail::dense_input(const Tensor& tensor, Dtype dtype, Buffer& buffer) {
    // Bools are always copied: then every byte is 0 or 1.
    if (is_usable(tensor, dtype) && tensor.data != nullptr && dtype != Dtype::kBool) {
        return tensor.data;
    }
    buffer.allocate(tensor.numel * size_of(dtype));
    int64_t strides[kMaxRank];
    copy_elements(dense_tensor(tensor, dtype, buffer.data(), strides), tensor);
    return buffer.data();
}

void* detail::dense_output(const Tensor& tensor, Dtype dtype, Buffer& buffer) {
    if (is_usable(tensor, dtype) && tensor.data != nullptr) {
        return tensor.data;
    }
    buffer.allocate(tensor.numel * size_of(dtype));
    return buffer.data();
}

void detail::store_dense(const Tensor& tensor, Dtype dtype, const void* data) {
    int64_t strides[kMaxRank];
    copy_elements(tensor, dense_tensor(tensor, dtype, const_cast<void*>(data), strides));
}

void copy_unless_same(const Tensor& to, const Tensor& from) {
    bool is_same = to.data == from.data && to.dtype == from.dtype && is_same_shape(to, from);
    for (int64_t i = 0; is_same && i < to.rank; ++i) {
        is_same = to.shape[i] == 1 || to.strides[i] == from.strides[i];
    }
    if (!is_same) {
        copy_elements(to, from);
    }
}

}  // namespace diopigen::core
