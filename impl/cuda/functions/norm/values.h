// One value for each row or channel, of whatever floating dtype its tensor has: kernels read and write them as double,
// without a copy on the way.
#ifndef DIOPI_CUDA_NORM_VALUES_H_
#define DIOPI_CUDA_NORM_VALUES_H_

#include "diopi_core/cast.h"
#include "diopi_core/dense.h"
#include "diopi_cuda/launch.h"

namespace diopigen::cuda {

// As a kernel sees them. Null: not there.
struct Values {
    void* data = nullptr;
    Dtype dtype = Dtype::kFloat64;

    DIOPI_DEVICE bool is_there() const { return data != nullptr; }
    DIOPI_DEVICE double get(int64_t i) const {
        switch (dtype) {
            case Dtype::kFloat16:
                return static_cast<double>(static_cast<float>(static_cast<const Half*>(data)[i]));
            case Dtype::kBfloat16:
                return static_cast<double>(static_cast<float>(static_cast<const Bfloat16*>(data)[i]));
            case Dtype::kFloat32:
                return static_cast<double>(static_cast<const float*>(data)[i]);
            default:
                return static_cast<const double*>(data)[i];
        }
    }
    DIOPI_DEVICE double get_or(int64_t i, double otherwise) const { return is_there() ? get(i) : otherwise; }
    DIOPI_DEVICE void set(int64_t i, double value) const {
        switch (dtype) {
            case Dtype::kFloat16:
                static_cast<Half*>(data)[i] = cast<Half>(value);
                break;
            case Dtype::kBfloat16:
                static_cast<Bfloat16*>(data)[i] = cast<Bfloat16>(value);
                break;
            case Dtype::kFloat32:
                static_cast<float*>(data)[i] = static_cast<float>(value);
                break;
            default:
                static_cast<double*>(data)[i] = value;
        }
    }
    DIOPI_DEVICE void set_if_there(int64_t i, double value) const {
        if (is_there()) {
            set(i, value);
        }
    }
};

// The values of a tensor, which must outlive it; a null tensor has none. Integers are copied.
class InputValues {
  public:
    explicit InputValues(const Tensor& tensor) {
        if (!tensor.is_null()) {
            const Dtype dtype = is_floating(tensor.dtype) ? tensor.dtype : Dtype::kFloat64;
            values_ = {core::detail::dense_input(tensor, dtype, memory_), dtype};
        }
    }
    const Values& values() const { return values_; }

  private:
    Buffer memory_;
    Values values_;
};

// Room for the values of a tensor, all to be written; `store` brings them there. A null tensor has none.
class OutputValues {
  public:
    explicit OutputValues(const Tensor& tensor) : tensor_(tensor) {
        if (!tensor.is_null()) {
            values_ = {core::detail::dense_output(tensor, tensor.dtype, memory_), tensor.dtype};
        }
    }
    const Values& values() const { return values_; }
    void store() const {
        if (!tensor_.is_null() && values_.data != tensor_.data) {
            core::detail::store_dense(tensor_, tensor_.dtype, values_.data);
        }
    }

  private:
    const Tensor& tensor_;
    Buffer memory_;
    Values values_;
};

// Room on the device for `count` values of T.
template <typename T>
class Room {
  public:
    explicit Room(int64_t count) { memory_.allocate(count * static_cast<int64_t>(sizeof(T))); }
    T* data() const { return static_cast<T*>(memory_.data()); }

  private:
    Buffer memory_;
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_VALUES_H_
