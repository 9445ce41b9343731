// A build without cuBLASLt: own kernels take all products.
#include "diopi_cuda/blas.h"

namespace diopigen::cuda {

bool multiply_by_blas(const Tensor&, const Tensor&, const Tensor&, const Number&, const Number&, const Tensor&) {
    return false;
}

}  // namespace diopigen::cuda
