// A build without cuBLASLt: own kernels take all products.
#include "diopi_cuda/blas.h"

namespace diopi::cuda {

bool multiply_by_blas(const Tensor&, const Tensor&, const Tensor&, const Number&, const Number&, const Tensor&) {
    return false;
}

}  // namespace diopi::cuda
