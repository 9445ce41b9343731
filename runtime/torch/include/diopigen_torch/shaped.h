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
at::Tensor makeOutput(at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options);
/// Gives an output of the caller the shape that it must have; rejects another dtype or device.
void shapeOutput(at::Tensor& out, at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options);
/// The same for a tensor that is written in place: it must have that shape.
void checkInplace(const at::Tensor& self, at::IntArrayRef sizes, const at::TensorOptions& options);

/// What is optional, as meta functions take it.
inline at::OptionalTensorRef reference(const std::optional<at::Tensor>& tensor) {
    return tensor.has_value() && tensor->defined() ? at::OptionalTensorRef(*tensor) : at::OptionalTensorRef();
}

inline at::OptionalScalarRef reference(const std::optional<at::Scalar>& scalar) {
    return scalar.has_value() ? at::OptionalScalarRef(*scalar) : at::OptionalScalarRef();
}

enum class Form { functional, inplace, out };

/// Whether an output of the caller is what it must be already, as outputs that are used again are.
inline bool isShaped(const at::Tensor& out, at::IntArrayRef sizes, const at::TensorOptions& options) {
    const at::IntArrayRef own = out.sizes();
    if (own.size() != sizes.size() || out.dtype() != options.dtype() || out.device() != options.device()) {
        return false;
    }
    for (size_t i = 0; i < sizes.size(); ++i) {  // few: a call of memcmp takes longer
        if (own[i] != sizes[i]) {
            return false;
        }
    }
    return true;
}

/// Calls of `Meta`, a class of `at::meta`, fill in the outputs. For the functional form the outputs are new; for the
/// others they are the caller's, given before.
template <typename Meta, size_t Count, Form kForm>
class Shaped final : public Meta {
  public:
    Shaped() = default;
    template <typename... Tensors, typename = std::enable_if_t<sizeof...(Tensors) == Count>>
    explicit Shaped(Tensors&... outputs) : outputs_{&outputs...} {}

    at::Tensor& output(size_t index) {
        if constexpr (kForm == Form::functional) {
            return outputs_[index];
        } else {
            return *outputs_[index];
        }
    }

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
        at::Tensor& result = output(static_cast<size_t>(index));
        if constexpr (kForm == Form::functional) {
            result = makeOutput(sizes, strides, options);
        } else if (C10_UNLIKELY(!isShaped(result, sizes, options))) {
            if constexpr (kForm == Form::inplace) {
                checkInplace(result, sizes, options);
            } else {
                shapeOutput(result, sizes, strides, options);
            }
        }
        // Last, so that the class can ask for the output.
        if constexpr (std::is_base_of_v<at::TensorIteratorBase, Meta>) {
            Meta::set_output_raw_strided(index, sizes, strides, options);
        }
    }

  private:
    // The caller's outputs are the caller's: no count of references is touched for them.
    std::array<std::conditional_t<kForm == Form::functional, at::Tensor, at::Tensor*>, Count> outputs_;
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_SHAPED_H_
