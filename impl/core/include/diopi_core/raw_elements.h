// Elements that are moved but not computed with: raw bits of the dtype's size.
#ifndef DIOPI_CORE_RAW_ELEMENTS_H_
#define DIOPI_CORE_RAW_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/reduction.h"
#include "diopi_core/tensor.h"
#include "diopi_core/threads.h"

namespace diopigen::core {

struct Word16 {
    uint64_t halves[2];
};

// Calls `body(W{})` with a type of the size of an element.
template <typename Body>
void dispatch_word(Dtype dtype, Body&& body) {
    switch (size_of(dtype)) {
        case 1:
            return body(uint8_t{});
        case 2:
            return body(uint16_t{});
        case 4:
            return body(uint32_t{});
        case 8:
            return body(uint64_t{});
        default:
            return body(Word16{});
    }
}

// The elements of a tensor in row-major order. The tensor must outlive it.
class RawInput {
  public:
    explicit RawInput(const Tensor& tensor) : data_(detail::dense_input(tensor, tensor.dtype, buffer_)) {}
    template <typename W>
    const W* as() const {
        return static_cast<const W*>(data_);
    }

  private:
    Buffer buffer_;
    const void* data_;
};

// Room for all elements of a tensor in row-major order; `store` brings them to the tensor.
class RawOutput {
  public:
    explicit RawOutput(const Tensor& tensor)
        : tensor_(tensor), data_(detail::dense_output(tensor, tensor.dtype, buffer_)) {}
    template <typename W>
    W* as() const {
        return static_cast<W*>(data_);
    }
    void store() const {
        if (data_ != tensor_.data) {
            detail::store_dense(tensor_, tensor_.dtype, data_);
        }
    }

  private:
    const Tensor& tensor_;
    Buffer buffer_;
    void* data_;
};

// The elements of a tensor in row-major order as `dtype`, to be changed in part; `store` brings them back.
class Changed {
  public:
    Changed(const Tensor& tensor, Dtype dtype)
        : tensor_(tensor), dtype_(dtype), data_(detail::dense_input(tensor, dtype, buffer_)) {}
    template <typename T>
    T* as() const {
        return static_cast<T*>(data_);
    }
    void store() const {
        if (data_ != tensor_.data) {
            detail::store_dense(tensor_, dtype_, data_);
        }
    }

  private:
    const Tensor& tensor_;
    Dtype dtype_;
    Buffer buffer_;
    void* data_;
};

// Copies where the two are not the same elements already.
void copy_unless_same(const Tensor& to, const Tensor& from);
// Sets every element.
void fill(const Tensor& to, const Number& value);

// `tensor` with one dimension cut to `length` positions that start at `start`, `step` apart.
View narrowed(const Tensor& tensor, int64_t dim, int64_t start, int64_t length, int64_t step = 1);
// `tensor` at one position of a dimension, without that dimension.
View selected(const Tensor& tensor, int64_t dim, int64_t index);
// The shape, or [1] for a 0-d tensor.
std::vector<int64_t> shape_at_least_1d(const Tensor& tensor);
int64_t product(const std::vector<int64_t>& sizes, size_t begin, size_t end);

// A shape as three numbers: what comes before a dimension, the dimension, what comes after it.
struct DimSplit {
    int64_t outer = 1;
    int64_t size = 1;
    int64_t inner = 1;
};
DimSplit split_at(const std::vector<int64_t>& shape, int64_t dim);

// Calls `body(outer, inner_begin, inner_end)` over all columns along the middle one of three dimensions. Each column is
// seen by one thread only; `length` is what one column costs.
template <typename Body>
void parallel_columns(int64_t outer, int64_t inner, int64_t length, Body&& body) {
    parallel_for(outer * inner, row_grain(length), [&](int64_t begin, int64_t end) {
        while (begin < end) {
            const int64_t first = begin % inner;
            const int64_t count = std::min(inner - first, end - begin);
            body(begin / inner, first, first + count);
            begin += count;
        }
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_RAW_ELEMENTS_H_
