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
