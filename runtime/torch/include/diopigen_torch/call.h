// A call of a function of the interface from a kernel of PyTorch: what the emitted and the handwritten kernels share.
#ifndef DIOPIGEN_TORCH_CALL_H_
#define DIOPIGEN_TORCH_CALL_H_

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Scalar.h>
#include <diopi/functions.h>
#include <diopi/functions_ext.h>
#include <diopigen_torch/context.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/dtypes.h>
#include <diopigen_torch/generator.h>
#include <diopigen_torch/switches.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace diopigen::backend {

/// The call runs on the CPU: the vendor leaves it to PyTorch, or the interface cannot say what it asks for.
class FallbackRequested : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

[[noreturn]] void fall_back(const std::string& reason);
/// Raises where a dtype does not hold a number, as PyTorch's own conversions do. For bool every number is true or
/// false.
void require_fits(at::ScalarType type, const at::Scalar& number);

enum class Bound { kLower, kUpper };
/// A bound as a number that the dtype holds. Since torch 2.15 a bound beyond an integral dtype limits nothing; before,
/// and where no element could be within it, that is an error.
at::Scalar bound_of(const at::Scalar& bound, at::ScalarType type, Bound side);
/// For a dtype that a kernel does not accept.
[[noreturn]] void fall_back_for_dtype(at::ScalarType type);

/// The vendor's function failed; what() names it, its status and the library's own text.
class Failed : public std::runtime_error {
  public:
    explicit Failed(const std::string& text, bool is_of_dtype = false)
        : runtime_error(text), is_of_dtype_(is_of_dtype) {}
    /// Returns whether the dtype of an operand is not one that the function takes.
    bool is_of_dtype() const { return is_of_dtype_; }
    /// Throws the same for PyTorch, with the operator that led to the function.
    [[noreturn]] void raise(const char* op, const char* overload) const;

  private:
    bool is_of_dtype_;
};

/// A tensor that a caller may leave out, as nothing or as an undefined one.
using MaybeTensor = std::optional<at::Tensor>;
inline bool is_defined(const at::Tensor& tensor) { return tensor.defined(); }
inline bool is_defined(const MaybeTensor& tensor) { return tensor.has_value() && tensor->defined(); }

/// Falls back where operands that PyTorch does not promote differ in their dtypes: it rejects most of these calls.
inline void require_same_dtype(const at::Tensor& first, const at::Tensor& other) {
    if (C10_UNLIKELY(other.defined() && other.scalar_type() != first.scalar_type())) {
        fall_back("operands of several dtypes");
    }
}
inline void require_same_dtype(const at::Tensor& first, const MaybeTensor& other) {
    if (other.has_value()) {
        require_same_dtype(first, *other);
    }
}

/// Context of one vendor call. Work goes to the calling thread's stream on the device of `like`.
class Call {
  public:
    explicit Call(const at::Tensor& like) : Call(like.is_cpu() ? current_device() : like.get_device()) {}
    explicit Call(c10::DeviceIndex device) : here_(device) { context_.device = device; }

    c10::DeviceIndex device() const { return context_.device; }
    at::TensorOptions options(at::ScalarType type) const {
        return at::TensorOptions().dtype(type).device(c10::Device(kDeviceType, context_.device));
    }
    diopiGeneratorHandle_t generator(const std::optional<at::Generator>& source) const {
        return generator_handle(source, context_.device);
    }

    /// Calls `function`, which may be null where the vendor lacks it. Throws FallbackRequested where the vendor leaves
    /// the call to others, and Failed for any other failure.
    template <typename... Parameters, typename... Arguments>
    void operator()(const char* name, diopiError_t (*function)(diopiContextHandle_t, Parameters...),
                    const Arguments&... arguments) {
        if (C10_UNLIKELY(function == nullptr)) {
            lack(name);
        }
        note_function(name);
        const diopiError_t status = function(&context_, static_cast<Parameters>(arguments)...);
        if (C10_UNLIKELY(status != diopiSuccess)) {
            fail(name, status);
        }
    }

    /// `result` is what the function may write to where it allocates its result (diopiContext).
    void offer(at::Tensor& result) { context_.result = &result; }

    /// Throws what a status other than diopiSuccess means, with the library's own text.
    [[noreturn]] static void fail(const char* name, diopiError_t status);

  private:
    [[noreturn]] static void lack(const char* name);

    WithDevice here_;
    diopiContext context_;
};

/// A tensor that an operator reads. A number that PyTorch keeps as a CPU tensor moves to the device; any other tensor
/// of another device is rejected.
class Input {
  public:
    /// As it is. Throws FallbackRequested where the dtype is not one of `dtypes`.
    Input(Call& call, const at::Tensor& tensor, Dtypes dtypes = kAnyDtype);
    /// Converted to `type`.
    Input(Call& call, const at::Tensor& tensor, at::ScalarType type, Dtypes dtypes = kAnyDtype);
    /// Converted to `type` and expanded to `sizes`, for a function whose operands have one shape.
    Input(Call& call, const at::Tensor& tensor, at::ScalarType type, Dtypes dtypes, at::IntArrayRef sizes);

    const at::Tensor& tensor() const { return own_.defined() ? own_ : *original_; }
    operator diopiConstTensorHandle_t() const { return handle(tensor()); }

  private:
    void take(Call& call, at::ScalarType type, Dtypes dtypes);

    const at::Tensor* original_;
    at::Tensor own_;
};

/// The same, where there may be no tensor: the handle is null then.
class OptionalInput {
  public:
    OptionalInput(Call& call, const MaybeTensor& tensor, Dtypes dtypes = kAnyDtype) {
        if (tensor.has_value() && tensor->defined()) {
            input_.emplace(call, *tensor, dtypes);
        }
    }
    OptionalInput(Call& call, const MaybeTensor& tensor, at::ScalarType type, Dtypes dtypes = kAnyDtype) {
        if (tensor.has_value() && tensor->defined()) {
            input_.emplace(call, *tensor, type, dtypes);
        }
    }
    operator diopiConstTensorHandle_t() const {
        return input_.has_value() ? static_cast<diopiConstTensorHandle_t>(*input_) : nullptr;
    }

  private:
    std::optional<Input> input_;
};

/// Several tensors that an operator reads.
class InputList {
  public:
    template <typename Tensors>
    InputList(Call& call, const Tensors& tensors, Dtypes dtypes = kAnyDtype) {
        inputs_.reserve(tensors.size());
        handles_.reserve(tensors.size());
        for (const at::Tensor& tensor : tensors) {
            inputs_.emplace_back(call, tensor, dtypes);
            handles_.push_back(inputs_.back());
        }
    }
    diopiConstTensorHandle_t* data() { return handles_.data(); }
    int64_t size() const { return static_cast<int64_t>(handles_.size()); }

  private:
    std::vector<Input> inputs_;
    std::vector<diopiConstTensorHandle_t> handles_;
};

/// A tensor that an operator writes. Where the operator cannot write the dtype that `out` has, it writes to a temporary
/// of the right one, which finish() converts.
class Output {
  public:
    explicit Output(at::Tensor& out) : out_(&out) { require_here(); }
    Output(at::Tensor& out, at::ScalarType type) : out_(&out) {
        require_here();
        if (C10_UNLIKELY(out.scalar_type() != type)) {
            replace(type);
        }
    }
    /// Of the first dtype of `dtypes` where the own one is not among them.
    Output(at::Tensor& out, Dtypes dtypes, at::ScalarType otherwise)
        : Output(out, is_in(dtypes, out.scalar_type()) ? out.scalar_type() : otherwise) {}

    at::Tensor& tensor() { return own_.defined() ? own_ : *out_; }
    operator diopiTensorHandle_t() { return handle(tensor()); }
    operator diopiTensorHandle_t() const { return const_cast<Output*>(this)->operator diopiTensorHandle_t(); }
    void finish() {
        if (C10_UNLIKELY(own_.defined())) {
            out_->copy_(own_);
        }
    }

  private:
    void require_here() const {
        if (C10_UNLIKELY(out_->device().type() != kDeviceType)) {
            reject();
        }
    }
    [[noreturn]] void reject() const;
    void replace(at::ScalarType type);

    at::Tensor* out_;
    at::Tensor own_;
};

/// Tensors that an operator writes, or reads and writes.
class OutputList {
  public:
    explicit OutputList(at::TensorList tensors) {
        handles_.reserve(tensors.size());
        for (const at::Tensor& tensor : tensors) {
            handles_.push_back(handle(const_cast<at::Tensor&>(tensor)));
        }
    }
    diopiTensorHandle_t* data() { return handles_.data(); }
    int64_t size() const { return static_cast<int64_t>(handles_.size()); }

  private:
    std::vector<diopiTensorHandle_t> handles_;
};

/// A tensor that an operator allocates.
class Allocated {
  public:
    Allocated() = default;
    /// `out`, a dense tensor, is to have the elements: the operator gets it where it asks for such a tensor.
    Allocated(Call& call, at::Tensor& out) { call.offer(out); }
    operator diopiTensorHandle_t*() const { return &handle_; }
    at::Tensor tensor() const {
        TORCH_CHECK(handle_ != nullptr, "the vendor's operator made no tensor");
        return tensor_of(handle_);
    }
    /// Gives `out` the elements.
    void move_to(at::Tensor& out) const {
        if (handle_ != handle(out)) {
            out.copy_(tensor());
        }
    }

  private:
    mutable diopiTensorHandle_t handle_ = nullptr;
};

/// A number. Complex ones fall back: the interface has none.
class Number {
  public:
    Number(const at::Scalar& scalar) : has_value_(true) { set(scalar); }  // NOLINT: reads as an argument
    /// The same for a function that converts the number to a dtype, which has to hold it.
    Number(const at::Scalar& scalar, at::ScalarType type) : Number(scalar) { require_fits(type, scalar); }
    Number(const std::optional<at::Scalar>& scalar, at::ScalarType type) : Number(scalar) {
        if (has_value_) {
            require_fits(type, *scalar);
        }
    }
    /// The same for a bound of the result.
    Number(const at::Scalar& scalar, at::ScalarType type, Bound side) : Number(bound_of(scalar, type, side)) {}
    Number(const std::optional<at::Scalar>& scalar, at::ScalarType type, Bound side) : has_value_(scalar.has_value()) {
        if (has_value_) {
            set(bound_of(*scalar, type, side));
        }
    }
    Number(const std::optional<at::Scalar>& scalar) : has_value_(scalar.has_value()) {  // NOLINT
        if (has_value_) {
            set(*scalar);
        }
    }
    operator const diopiScalar_t*() const { return has_value_ ? &value_ : nullptr; }
    // One function of the interface takes a pointer that is not const, and only reads.
    operator diopiScalar_t*() const { return has_value_ ? &value_ : nullptr; }

  private:
    void set(const at::Scalar& scalar);

    mutable diopiScalar_t value_{};
    bool has_value_;
};

/// An optional number of a plain type: null where there is none.
template <typename Type>
class Optional {
  public:
    template <typename Source>
    Optional(const std::optional<Source>& source)  // NOLINT: reads as an argument
        : has_value_(source.has_value()), value_(has_value_ ? static_cast<Type>(*source) : Type{}) {}
    operator const Type*() const { return has_value_ ? &value_ : nullptr; }

  private:
    bool has_value_;
    Type value_;
};

/// The handle of a tensor that an operator writes where there is one; null where there is none.
inline diopiTensorHandle_t optional(at::Tensor& tensor) { return tensor.defined() ? handle(tensor) : nullptr; }

inline diopiSize_t sizes(at::IntArrayRef array) { return {array.data(), static_cast<int64_t>(array.size())}; }
inline diopiSize_t sizes(at::OptionalIntArrayRef array) {
    return array.has_value() ? sizes(*array) : diopiSize_t{nullptr, 0};
}
/// A single dimension as a list of one; `dimension` must outlive the call.
inline diopiSize_t sizes(const int64_t& dimension) { return {&dimension, 1}; }

inline diopiReduction_t reduction_of(int64_t value) { return static_cast<diopiReduction_t>(value); }
diopiRoundMode_t round_mode(std::optional<std::string_view> name);

/// Returns whether PyTorch keeps a number in the tensor: a tensor without dimensions on the CPU.
inline bool is_number(const at::Tensor& tensor) { return tensor.is_cpu() && tensor.dim() == 0; }
/// The value of such a tensor in another dtype, with PyTorch's conversion of tensors: integers wrap, and beyond a
/// floating dtype they are infinite.
at::Scalar number_in(const at::Tensor& number, at::ScalarType type);
/// The value of such a tensor for a function that computes in `type`, which converts it as well as long as it is no
/// integer beyond those of the interface.
inline at::Scalar number_for(const at::Tensor& number, at::ScalarType type) {
    return C10_UNLIKELY(number.scalar_type() == at::kUInt64) ? number_in(number, type) : number.item();
}

/// The rules of the spec by which dtypes follow.
inline at::ScalarType to_float(at::ScalarType type) {
    return at::isIntegralType(type, /*includeBool=*/true) ? at::get_default_dtype_as_scalartype() : type;
}
inline at::ScalarType accumulated(at::ScalarType type) {
    return at::isIntegralType(type, /*includeBool=*/true) ? at::kLong : type;
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_CALL_H_
