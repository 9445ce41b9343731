// The norm of any order, as one reducer of absolute values in double.
#ifndef DIOPI_CUDA_ORDER_NORM_H_
#define DIOPI_CUDA_ORDER_NORM_H_

#include "diopi_core/math.h"
#include "diopi_cuda/group.h"

namespace diopigen::cuda {

using namespace diopigen::core;  // NOLINT

struct OrderNorm {
    double order;

    DIOPI_DEVICE double identity() const { return isinf(order) && order < 0 ? static_cast<double>(INFINITY) : 0; }
    // What an element of this size adds.
    DIOPI_DEVICE double term(double size) const {
        return isinf(order) || order == 1 ? size
               : order == 0               ? (size != 0 ? 1.0 : 0.0)
               : order == 2               ? size * size
                                          : numeric::pow(size, order);
    }
    DIOPI_DEVICE double join(double a, double b) const {
        return !isinf(order) ? a + b : order > 0 ? maximum(a, b) : minimum(a, b);
    }
    DIOPI_DEVICE double finish(double sum) const {
        return isinf(order) || order == 0 || order == 1 ? sum
               : order == 2                             ? numeric::sqrt(sum)
                                                        : numeric::pow(sum, 1 / order);
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ORDER_NORM_H_
