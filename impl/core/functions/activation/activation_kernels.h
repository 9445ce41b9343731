// What softmax does to elements.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_ACTIVATION_ACTIVATION_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_ACTIVATION_ACTIVATION_KERNELS_H_

#include "diopi_core/promotion.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::core {

enum class SoftmaxKind { kSoftmax, kLogSoftmax, kSoftmaxGradient, kLogSoftmaxGradient };

inline bool is_gradient(SoftmaxKind kind) {
    return kind == SoftmaxKind::kSoftmaxGradient || kind == SoftmaxKind::kLogSoftmaxGradient;
}

// The dtype to compute in: the results of halves may be float32, and the other way round.
inline Dtype softmax_dtype(const Tensor& out, const Tensor& first) { return promote({out, first}); }

// Along the middle one of three dimensions. `first` is the input, or grad_output, whose `second` is what the
// operator gave. `out` may be either of them.
void softmax_along(SoftmaxKind kind, const Tensor& out, const Tensor& first, const Tensor& second,
                   const DimSplit& split);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_ACTIVATION_ACTIVATION_KERNELS_H_
