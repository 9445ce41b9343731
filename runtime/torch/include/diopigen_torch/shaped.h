// Outputs of PyTorch's structured operators: its own meta functions say their shapes and dtypes.
#ifndef DIOPIGEN_TORCH_SHAPED_H_
#define DIOPIGEN_TORCH_SHAPED_H_

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <type_traits>

namespace diopigen::backend {

/// A new tensor of the device.
at::Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options);
/// Gives an output of the caller the shape that it must have; rejects another dtype or device.
void shape_output(at::Tensor& out, at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options);

/// Optional arguments in the types of meta functions.
inline at::OptionalTensorRef reference(const std::optional<at::Tensor>& tensor) {
    return tensor.has_value() && tensor->defined() ? at::OptionalTensorRef(*tensor) : at::OptionalTensorRef();
}

inline at::OptionalScalarRef reference(const std::optional<at::Scalar>& scalar) {
    return scalar.has_value() ? at::OptionalScalarRef(*scalar) : at::OptionalScalarRef();
}

enum class Form { kFunctional, kInplace, kOut };

/// Makes an output, or shapes that of the caller, as its form demands.
void set_output(at::Tensor& output, Form form, at::IntArrayRef sizes, at::IntArrayRef strides,
                const at::TensorOptions& options);

/// The dtype of the result where all operands are alike: tensors of one shape and dtype, contiguous on one device, or
/// numbers that do not take part in promotion. `specs/aten` has it by operator, as torch answers.
enum class Alike {
    kFloating,  ///< theirs; of integers another
    kReal,      ///< theirs
    kCompared,  ///< bool
};

/// Returns whether an operand can be the first of those that are alike.
bool allows(Alike alike, const at::Tensor& first);
bool is_like(const at::Tensor& first, const at::Tensor& other);
bool is_like(const at::Tensor& first, const at::Scalar& other);
/// Returns whether the caller's output is what a result of operands like `first` is already.
bool is_like_result(Alike alike, const at::Tensor& first, const at::Tensor& output);
/// Returns whether writing to `output` leaves an operand of its shape as it is, or replaces it element by element.
bool is_apart(const at::Tensor& output, const at::Tensor& operand);
inline bool is_apart(const at::Tensor&, const at::Scalar&) { return true; }
/// A new result of operands like `first`.
at::Tensor make_result(Alike alike, const at::Tensor& first);

/// Calls of `Meta`, a class of `at::meta`, fill in the outputs. For the functional form the outputs are new; for the
/// others they are the caller's, given before. The form is no parameter of the template: PyTorch's headers make each
/// class of this kind expensive to compile.
template <typename Meta, size_t kCount>
class Shaped final : public Meta {
  public:
    Shaped() : form_(Form::kFunctional) {
        for (size_t i = 0; i < kCount; ++i) {
            outputs_[i] = &created_[i];
        }
    }
    template <typename... Tensors, typename = std::enable_if_t<sizeof...(Tensors) == kCount>>
    explicit Shaped(Form form, Tensors&... outputs) : form_(form), outputs_{&outputs...} {}

    at::Tensor& output(size_t index) { return *outputs_[index]; }

    /// The dtype that an iterator computes in; `otherwise` where it has none of its own.
    at::ScalarType type(at::ScalarType otherwise) const {
        return this->common_dtype_ == at::ScalarType::Undefined ? otherwise : this->common_dtype_;
    }

    /// Fills in the outputs as `meta` does, which is called unless all operands are alike: it would take longer than
    /// the rest of a small call.
    template <typename... Others>
    void infer(Alike alike, const at::Tensor& first, const Others&... others) {
        if (allows(alike, first) && (is_like(first, others) && ...)) {
            if (form_ == Form::kFunctional) {
                created_[0] = make_result(alike, first);
                return;
            }
            const at::Tensor& own = *outputs_[0];
            if (is_like_result(alike, first, own) && is_apart(own, first) && (is_apart(own, others) && ...)) {
                return;
            }
        }
        this->meta(first, others...);
    }

    const at::Tensor& maybe_get_output(int64_t index) override { return output(static_cast<size_t>(index)); }

    void set_output_strided(int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                            at::TensorOptions options) override {
        set_output_raw_strided(index, sizes, strides, options);
    }

    void set_output_raw_strided(int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                                at::TensorOptions options) override {
        set_output(output(static_cast<size_t>(index)), form_, sizes, strides, options);
        // Last, so that the class can ask for the output.
        if constexpr (std::is_base_of_v<at::TensorIteratorBase, Meta>) {
            Meta::set_output_raw_strided(index, sizes, strides, options);
        }
    }

  private:
    Form form_;
    // The caller's outputs are the caller's: no count of references is touched for them.
    std::array<at::Tensor*, kCount> outputs_;
    std::array<at::Tensor, kCount> created_;
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_SHAPED_H_
