// Operands of operators that are not elementwise: row-major arrays of the compute type, in place where the tensor is
// one already, else a converted copy. Kernels over them need to know nothing of strides, dtypes or halves.
#ifndef DIOPI_CORE_DENSE_H_
#define DIOPI_CORE_DENSE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "diopi_core/cast.h"
#include "diopi_core/tensor.h"

namespace diopigen::core {

// Copies `from` to `to` with broadcasting and casts. The tensors are disjoint. Strides may be negative.
void copy_elements(const Tensor& to, const Tensor& from);

// A tensor with sizes and strides of its own over the data of another. May be moved: the arrays stay where they are.
class View {
  public:
    // `offset` counts elements from the data of `base`.
    View(const Tensor& base, std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset = 0);
    View(View&&) = default;
    const Tensor& tensor() const { return tensor_; }

  private:
    std::vector<int64_t> shape_;
    std::vector<int64_t> strides_;
    Tensor tensor_;
};

// Dimension k of the view is dimension dims[k] of the tensor.
View permuted(const Tensor& tensor, const std::vector<int64_t>& dims);
// The tensor broadcast to a shape that it broadcasts to.
View expanded(const Tensor& tensor, const std::vector<int64_t>& shape);
std::vector<int64_t> shape_of(const Tensor& tensor);
// The shape that two tensors broadcast to together.
std::vector<int64_t> broadcast_shape(const Tensor& left, const Tensor& right);

// Memory for elements; not initialised.
class Buffer {
  public:
    void allocate(int64_t bytes);
    void* data() const { return data_.get(); }

  private:
    struct Free {
        void operator()(char* data) const;
    };
    std::unique_ptr<char, Free> data_;
};

// A contiguous tensor for intermediate results, on the device of `like`, in memory of the library. The host is not
// asked for it: the dispatch library hands over copies in host memory that still name the device.
class Temporary {
  public:
    Temporary(const std::vector<int64_t>& shape, Dtype dtype, const Tensor& like);
    const Tensor& tensor() const { return view_.tensor(); }

  private:
    Buffer memory_;
    View view_;
};

namespace detail {
void* dense_input(const Tensor& tensor, Dtype dtype, Buffer& buffer);
void* dense_output(const Tensor& tensor, Dtype dtype, Buffer& buffer);
void store_dense(const Tensor& tensor, Dtype dtype, const void* data);
}  // namespace detail

// The elements of a tensor as T in row-major order; null for a null tensor. The tensor must outlive it.
template <typename T>
class Input {
  public:
    explicit Input(const Tensor& tensor)
        : data_(tensor.is_null() ? nullptr : static_cast<const T*>(detail::dense_input(tensor, dtype_of<T>, buffer_))) {
    }
    const T* data() const { return data_; }
    const T& operator[](int64_t i) const { return data_[i]; }
    explicit operator bool() const { return data_ != nullptr; }

  private:
    Buffer buffer_;
    const T* data_;
};

// Room for the elements of a tensor as T in row-major order, to be written in full; `store` brings them to the tensor.
// A null tensor gives room that is dropped.
template <typename T>
class Output {
  public:
    explicit Output(const Tensor& tensor, int64_t numel_if_null = 0) : tensor_(tensor) {
        if (tensor.is_null()) {
            buffer_.allocate(numel_if_null * static_cast<int64_t>(sizeof(T)));
            data_ = static_cast<T*>(buffer_.data());
        } else {
            data_ = static_cast<T*>(detail::dense_output(tensor, dtype_of<T>, buffer_));
        }
    }
    T* data() const { return data_; }
    T& operator[](int64_t i) const { return data_[i]; }
    void store() const {
        if (!tensor_.is_null() && data_ != tensor_.data) {
            detail::store_dense(tensor_, dtype_of<T>, data_);
        }
    }

  private:
    const Tensor& tensor_;
    Buffer buffer_;
    T* data_ = nullptr;
};

// Calls `body(T{})` with the compute type of a dtype of `set`: float for the halves. Other dtypes are rejected.
template <DtypeSet set, typename Body>
void dispatch_compute(Dtype dtype, Body&& body) {
    constexpr DtypeSet kHalves = kFloat16 | kBfloat16;
    constexpr DtypeSet kComputed = (set & ~kHalves) | ((set & kHalves) != 0 ? kFloat32 : DtypeSet{0});
    if (!dispatch<kComputed>(compute_of(dtype), body)) {
        fail(std::string("operands of dtype ") + name_of(dtype) + " are not supported", diopiDtypeNotSupported);
    }
}

// The type that sums and products of T are accumulated in: twice as wide for floats, int64 for integers and bools.
template <typename T>
struct AccumulatorOf {
    using type = Int64;
};
template <>
struct AccumulatorOf<float> {
    using type = double;
};
template <>
struct AccumulatorOf<double> {
    using type = double;
};
template <>
struct AccumulatorOf<Complex64> {
    using type = Complex128;
};
template <>
struct AccumulatorOf<Complex128> {
    using type = Complex128;
};
template <typename T>
using Accumulator = typename AccumulatorOf<T>::type;

}  // namespace diopigen::core

#endif  // DIOPI_CORE_DENSE_H_
