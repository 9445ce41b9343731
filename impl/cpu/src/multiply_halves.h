// Products by a matrix of halves whose columns lie as rows, as weights of linear layers do.
#ifndef DIOPI_CPU_MULTIPLY_HALVES_H_
#define DIOPI_CPU_MULTIPLY_HALVES_H_

#include "diopi_core/tensor.h"

namespace diopigen::cpu {

using namespace core;

// As `multiply_tensors` for float16 and bfloat16, without floats of the whole matrix. False, with nothing done, for
// other dtypes and layouts.
bool multiply_halves(const Tensor& out, const Tensor& a, const Tensor& b, Number alpha, Number beta,
                     const Tensor& added);

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_MULTIPLY_HALVES_H_
