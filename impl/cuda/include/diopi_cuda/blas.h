// Products of matrices by cuBLASLt. A library that was built without it has own kernels alone, and so has the emulated
// one (docs/cuda.md).
#ifndef DIOPI_CUDA_BLAS_H_
#define DIOPI_CUDA_BLAS_H_

#include "diopi_core/gemm.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

// What `multiply_batch` promises, for outputs that are not empty. False where nothing was done: cuBLASLt is not there,
// or these dtypes, sizes or layouts are not its. A product of a form that came before costs no choice of an algorithm.
bool multiply_by_blas(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                      const Tensor& added);

// `multiply_tensors` (diopi_core/gemm.h), which also takes float16 or bfloat16 factors with floats in `out` and
// `added`. The stride from one matrix of a factor to the next may be 0.
void multiply_batch(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                    const Tensor& added);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_BLAS_H_
