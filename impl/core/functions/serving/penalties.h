// How penalties change a logit, for the loops of each library.
#ifndef DIOPI_CORE_FUNCTIONS_SERVING_PENALTIES_H_
#define DIOPI_CORE_FUNCTIONS_SERVING_PENALTIES_H_

#include <limits>

#include "diopi_core/dtype.h"

namespace diopigen::core::serving {

// The values of `penalty_type`.
constexpr int64_t kNoPenalty = 0;
constexpr int64_t kSubtracted = 1;

DIOPI_HOST_DEVICE inline double penalised(double logit, double penalty, int64_t kind) {
    if (kind == kSubtracted) {
        return logit - penalty;
    }
    return logit > 0 ? logit / penalty : logit * penalty;
}

// What keeps temperatures of 0 from being divisors.
constexpr double kLeastTemperature = 1e-6;

template <typename T>
T lowest_finite() {
    if constexpr (dtype_of<T> == Dtype::kFloat16) {
        return T(-65504.0F);
    } else if constexpr (dtype_of<T> == Dtype::kBfloat16) {
        return T(-0x1.fep127F);
    } else {
        return std::numeric_limits<T>::lowest();
    }
}

}  // namespace diopigen::core::serving

#endif  // DIOPI_CORE_FUNCTIONS_SERVING_PENALTIES_H_
