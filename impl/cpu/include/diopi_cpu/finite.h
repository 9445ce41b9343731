// Whether results are numbers.
#ifndef DIOPI_CPU_FINITE_H_
#define DIOPI_CPU_FINITE_H_

#include <cstdint>

#include "diopi_core/half.h"

namespace diopigen::cpu {

using namespace core;

// Whether none of `count` contiguous numbers is infinite or NaN. Spread over the threads.
bool are_finite(const float* values, int64_t count);
bool are_finite(const double* values, int64_t count);
bool are_finite(const Bfloat16* values, int64_t count);

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_FINITE_H_
