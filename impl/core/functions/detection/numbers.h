// Numbers that functions of detection compute in double, and lists that they hand to kernels.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_NUMBERS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_NUMBERS_H_

#include <memory>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::core {

// A copy of a list of the host where kernels reach it. Each library has its own.
Buffer list_for_kernels(const void* values, int64_t bytes);

template <typename V>
Buffer list_for_kernels(const std::vector<V>& values) {
    return list_for_kernels(values.data(), static_cast<int64_t>(values.size() * sizeof(V)));
}

// The elements of a tensor on the host, in row-major order.
std::vector<int64_t> integers_of(const Tensor& tensor);
// The same of numbers that `Each` has computed.
std::vector<int64_t> integers_at(const Int64* values, int64_t count);
// Numbers of a tensor of float32 with one dimension, which may be in host memory.
std::vector<float> floats_of(const Tensor& tensor);
// Writes a number to a 0-d tensor, which may be in host memory.
void store_number(const Tensor& to, int64_t number);

// Writes a list to a contiguous tensor of any integral dtype.
inline void store_list(const Tensor& to, const std::vector<int64_t>& values) {
    if (to.numel > 0) {
        const Buffer memory = list_for_kernels(values);
        Tensor list = to;
        list.dtype = Dtype::kInt64;
        list.data = memory.data();
        copy_elements(to, list);
    }
}

// Sums to which is added: in double, and rounded once. Null for a null tensor.
class Sums {
  public:
    explicit Sums(const Tensor& tensor) {
        if (!tensor.is_null()) {
            changed_ = std::make_unique<Changed>(tensor, Dtype::kFloat64);
        }
    }
    double* data() const { return changed_ == nullptr ? nullptr : changed_->as<double>(); }
    void store() const {
        if (changed_ != nullptr) {
            changed_->store();
        }
    }

  private:
    std::unique_ptr<Changed> changed_;
};

// Room for numbers, not initialised.
class Numbers {
  public:
    explicit Numbers(int64_t count) { memory_.allocate(count * static_cast<int64_t>(sizeof(double))); }
    double* data() const { return static_cast<double*>(memory_.data()); }

  private:
    Buffer memory_;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_NUMBERS_H_
