#include "diopi_cpu/dense.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "diopi_cpu/stream.h"
#include "diopi_cpu/strided.h"
#include "diopi_cpu/threads.h"

namespace diopi::cpu {

namespace {

constexpr int64_t kBlock = 1024;

// A row-major tensor over plain memory. `strides` is room for its strides.
Tensor dense_tensor(const Tensor& like, Dtype dtype, void* data, int64_t* strides) {
    Tensor result = like;
    result.data = data;
    result.dtype = dtype;
    result.strides = strides;
    int64_t step = 1;
    for (int64_t i = like.rank; i-- > 0;) {
        strides[i] = step;
        step *= like.shape[i];
    }
    return result;
}

bool is_usable(const Tensor& tensor, Dtype dtype) {
    return tensor.dtype == dtype && is_contiguous(tensor) &&
           reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(size_of(dtype)) == 0;
}

}  // namespace

void copy_elements(const Tensor& to, const Tensor& from) {
    if (to.numel == 0) {
        return;
    }
    const Order order = tiled(memory_order(to.shape, to.strides, to.rank), from, to.rank);
    const Strided target = strided(to, order, to.rank);
    const Strided source = strided(from, order, to.rank);
    const bool is_same_type = from.dtype == to.dtype && to.dtype != Dtype::kBool;
    const bool is_streamed = target.is_dense() && is_worth_streaming(to.numel * target.element);
    parallel_for(to.numel, 16 * kBlock, [&](int64_t begin, int64_t end) {
        alignas(64) char gathered[kBlock * 16];
        alignas(64) char converted[kBlock * 16];
        for (int64_t start = begin; start < end; start += kBlock) {
            const int64_t count = std::min(kBlock, end - start);
            const char* read = source.contiguous(start, count);
            if (read == nullptr) {
                source.gather(start, count, gathered);
                read = gathered;
            }
            char* written = target.contiguous(start, count);
            const char* result = read;
            if (!is_same_type) {
                char* place = written == nullptr || is_streamed ? converted : written;
                convert(from.dtype, read, to.dtype, place, count);
                result = place;
            }
            if (written == nullptr) {
                target.scatter(start, count, result);
            } else if (is_streamed) {
                stream_copy(written, result, count * target.element);
            } else if (result != written) {
                std::memcpy(written, result, static_cast<size_t>(count * target.element));
            }
        }
        if (is_streamed) {
            end_streaming();
        }
    });
}

View::View(const Tensor& base, std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset)
    : shape_(std::move(shape)), strides_(std::move(strides)), tensor_(base) {
    tensor_.data = base.data == nullptr ? nullptr : static_cast<char*>(base.data) + offset * size_of(base.dtype);
    tensor_.shape = shape_.data();
    tensor_.strides = strides_.data();
    tensor_.rank = static_cast<int64_t>(shape_.size());
    tensor_.numel = 1;
    for (const int64_t size : shape_) {
        tensor_.numel *= size;
    }
}

View permuted(const Tensor& tensor, const std::vector<int64_t>& dims) {
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    for (const int64_t dim : dims) {
        shape.push_back(tensor.shape[dim]);
        strides.push_back(tensor.strides[dim]);
    }
    return View(tensor, std::move(shape), std::move(strides));
}

View expanded(const Tensor& tensor, const std::vector<int64_t>& shape) {
    std::vector<int64_t> strides(shape.size(), 0);
    const auto rank = static_cast<int64_t>(shape.size());
    for (int64_t i = 1; i <= tensor.rank; ++i) {
        strides[rank - i] = tensor.shape[tensor.rank - i] == 1 ? 0 : tensor.strides[tensor.rank - i];
    }
    return View(tensor, shape, std::move(strides));
}

std::vector<int64_t> shape_of(const Tensor& tensor) { return {tensor.shape, tensor.shape + tensor.rank}; }

std::vector<int64_t> broadcast_shape(const Tensor& left, const Tensor& right) {
    std::vector<int64_t> shape(static_cast<size_t>(std::max(left.rank, right.rank)), 1);
    for (const Tensor* tensor : {&left, &right}) {
        for (int64_t i = 1; i <= tensor->rank; ++i) {
            int64_t& size = shape[shape.size() - i];
            const int64_t own = tensor->shape[tensor->rank - i];
            if (size != 1 && own != 1 && size != own) {
                fail(std::string("parameter '") + right.name + "' has the shape " +
                     shape_text(right.shape, right.rank) + ", which does not broadcast with '" + left.name + "'");
            }
            size = size == 1 ? own : size;
        }
    }
    return shape;
}

void Buffer::Free::operator()(char* data) const { ::operator delete(data, std::align_val_t{64}); }

void Buffer::allocate(int64_t bytes) {
    data_.reset(
        static_cast<char*>(::operator new(static_cast<size_t>(std::max<int64_t>(bytes, 1)), std::align_val_t{64})));
}

void* detail::dense_input(const Tensor& tensor, Dtype dtype, Buffer& buffer) {
    // Truth values are always copied: then every byte is 0 or 1.
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

}  // namespace diopi::cpu
