// Gradients of operators of the namespace `diopi`: one autograd kernel for all of them, and a table of what it calls.
#ifndef DIOPIGEN_TORCH_CUSTOM_GRADIENT_H_
#define DIOPIGEN_TORCH_CUSTOM_GRADIENT_H_

#include <torch/library.h>

namespace diopigen::backend {

/// Gives the operator `forward` a gradient that the operator `backward` computes; each may call several.
///
/// `arguments` has a word for each argument of `backward`: `i2` is argument 2 of the forward call, `o0` its result 0,
/// `g0` the gradient of that result, `s0.1` size 1 of argument 0, `z0` zeros like argument 0, to which the gradient of
/// that argument is added, `e` a tensor without elements, and `d` the default of the schema. `results` says for each
/// result of `backward` which argument it is the gradient of, or `-`.
void add_gradient(const char* forward, const char* backward, const char* arguments, const char* results);

/// Registers the autograd kernel for an operator that add_gradient() names.
void differentiate(torch::Library& library, const char* forward);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_CUSTOM_GRADIENT_H_
