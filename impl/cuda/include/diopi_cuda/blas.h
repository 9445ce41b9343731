// Products of matrices by cuBLASLt. A library that was built without it has own kernels alone, and so has the emulated
// one (docs/cuda.md).
#ifndef DIOPI_CUDA_BLAS_H_
#define DIOPI_CUDA_BLAS_H_

#include "diopi_cpu/gemm.h"
#include "diopi_cuda/runtime.h"

namespace diopi::cuda {

// What `multiply_tensors` promises, for outputs that are not empty. False where nothing was done: cuBLASLt is not
// there, or these dtypes, sizes or layouts are not its.
bool multiply_by_blas(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                      const Tensor& added);

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_BLAS_H_
