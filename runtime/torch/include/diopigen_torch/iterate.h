// Shapes and dtypes of elementwise operators that have no meta function: PyTorch's TensorIterator says them.
#ifndef DIOPIGEN_TORCH_ITERATE_H_
#define DIOPIGEN_TORCH_ITERATE_H_

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>

#include <initializer_list>

namespace diopigen::backend {

/// Promotion of the dtypes of operands to that of a result.
enum class Promotion {
    kCommon,   ///< the dtype that they promote to
    kReal,     ///< the same, integers to the default dtype
    kBoolean,  ///< bool, whatever they promote to
};

/// The iterator over `out` and `inputs`, which broadcast: an undefined `out` is made, another one is resized. The dtype
/// to compute in is common_dtype().
at::TensorIterator iterate(const at::Tensor& out, std::initializer_list<const at::Tensor*> inputs,
                           Promotion promotion = Promotion::kCommon);

/// The same where nothing else of the iterator is needed: `out` has its shape then, and the dtype to compute in is
/// returned.
at::ScalarType shape_elementwise(at::Tensor& out, std::initializer_list<const at::Tensor*> inputs,
                                 Promotion promotion = Promotion::kCommon);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_ITERATE_H_
