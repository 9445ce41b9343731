// Helpers of the operators of the namespace `diopi`, which call functions that no overload of ATen names.
#ifndef DIOPIGEN_TORCH_CUSTOM_H_
#define DIOPIGEN_TORCH_CUSTOM_H_

#include <ATen/OpMathType.h>
#include <c10/core/SymInt.h>
#include <diopigen_torch/kernel.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace diopigen::backend {

using Sizes = std::vector<c10::SymInt>;

/// One size of an argument, which has `rank` dimensions; any other rank is rejected.
c10::SymInt size_of(const at::Tensor& tensor, const char* name, int64_t rank, int64_t dimension);
/// The same, of an argument that has `rank` dimensions or more. A negative dimension counts from the end.
c10::SymInt size_of_at_least(const at::Tensor& tensor, const char* name, int64_t rank, int64_t dimension);

/// All sizes of an argument.
Sizes sizes_of(const at::Tensor& tensor);
/// A quotient without its remainder; a divisor below 1 is rejected.
c10::SymInt quotient(const c10::SymInt& dividend, const c10::SymInt& divisor);

/// A result on the device of `like`.
at::Tensor make_empty(const at::Tensor& like, at::ScalarType type, const Sizes& sizes);
at::Tensor make_zeros(const at::Tensor& like, at::ScalarType type, const Sizes& sizes);

/// The first tensor of a list, whose device the call runs on.
const at::Tensor& first_of(at::TensorList tensors);

/// For functions that only read what their declaration does not call const.
inline diopiTensorHandle_t mutable_of(const Input& input) {
    return const_cast<diopiTensorHandle_t>(static_cast<diopiConstTensorHandle_t>(input));
}
inline diopiTensorHandle_t mutable_of(const OptionalInput& input) {
    return const_cast<diopiTensorHandle_t>(static_cast<diopiConstTensorHandle_t>(input));
}

/// A tensor of the caller that the function writes; null where there is none.
class Written {
  public:
    Written(const Call& call, const at::Tensor& tensor);
    Written(const Call& call, const std::optional<at::Tensor>& tensor);
    operator diopiTensorHandle_t() const { return handle_; }

  private:
    diopiTensorHandle_t handle_ = nullptr;
};

inline diopiSize_t array_of(at::IntArrayRef values) { return {values.data(), static_cast<int64_t>(values.size())}; }

/// Sizes that may be absent: null then.
class OptionalSizes {
  public:
    explicit OptionalSizes(at::OptionalIntArrayRef values)
        : has_value_(values.has_value()), value_(backend::sizes(values)) {}
    operator const diopiSize_t*() const { return has_value_ ? &value_ : nullptr; }
    operator diopiSize_t*() const { return has_value_ ? &value_ : nullptr; }

  private:
    bool has_value_;
    mutable diopiSize_t value_;
};

/// Tensors that an operator makes.
template <size_t kCount>
class AllocatedList {
  public:
    diopiTensorHandle_t* data() { return handles_.data(); }
    at::Tensor tensor(size_t index) const {
        TORCH_CHECK(handles_[index] != nullptr, "the vendor's operator made no tensor ", index);
        return tensor_of(handles_[index]);
    }

  private:
    std::array<diopiTensorHandle_t, kCount> handles_{};
};

/// Raises for PyTorch the exception that is being handled. There is no kernel for the CPU: what the vendor leaves to
/// others is an error.
[[noreturn]] void raise_for_custom(const char* name);

/// The kernel of an operator as PyTorch calls it; one class for each signature.
template <typename Signature>
class CustomKernel;

template <typename Result, typename... Arguments>
class CustomKernel<Result(Arguments...)> final : public c10::OperatorKernel {
  public:
    CustomKernel(const char* name, Result (*body)(Arguments...)) : name_(name), body_(body) {}

    Result operator()(Arguments... arguments) const {
        try {
            return body_(arguments...);
        } catch (...) {
            raise_for_custom(name_);
        }
    }

  private:
    const char* name_;
    Result (*body_)(Arguments...);
};

/// The operator of that name in the namespace `diopi`.
c10::OperatorHandle custom_operator(const char* name);

/// Registers `body` for it.
template <typename Signature>
void add_custom(KernelLibrary& library, const char* name, Signature* body) {
    library.add(custom_operator(name), new CustomKernel<Signature>(name, body), body);
}

/// Below torch.autocast: floating operands are float32, and results have the dtype of the first operand.
void compute_in_float32(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Operands of an operator, by position, that torch.autocast gives one dtype: the widest of theirs. With `is_half` the
/// function takes 16 bits alone: where theirs is wider, they get the dtype of autocast.
void add_promotion(const char* name, const char* positions, bool is_half);
/// Registers a kernel for torch.autocast, for an operator that add_promotion() names.
void promote_operands(torch::Library& library, const char* name);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_CUSTOM_H_
