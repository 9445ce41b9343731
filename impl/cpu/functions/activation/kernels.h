// What softmax does to elements.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CPU_FUNCTIONS_ACTIVATION_KERNELS_H_
#define DIOPI_CPU_FUNCTIONS_ACTIVATION_KERNELS_H_

#include "diopi_cpu/promotion.h"
#include "diopi_cpu/words.h"

namespace diopi::cpu {

enum class SoftmaxKind { kSoftmax, kLogSoftmax, kSoftmaxGradient, kLogSoftmaxGradient };

inline bool is_gradient(SoftmaxKind kind) {
    return kind == SoftmaxKind::kSoftmaxGradient || kind == SoftmaxKind::kLogSoftmaxGradient;
}

// The dtype to compute in: the results of halves may be float32, and the other way round.
inline Dtype softmax_dtype(const Tensor& out, const Tensor& first) { return promote({out, first}); }

// Along the middle one of three dimensions. `first` is the input, or grad_output, whose `second` is what the
// operator gave. `out` may be either of them.
void softmax(SoftmaxKind kind, const Tensor& out, const Tensor& first, const Tensor& second, const Around& place);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_FUNCTIONS_ACTIVATION_KERNELS_H_
