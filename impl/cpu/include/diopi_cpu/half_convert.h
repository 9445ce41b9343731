// Half precision to float and back by the instructions that processors have for it.
#ifndef DIOPI_CPU_HALF_CONVERT_H_
#define DIOPI_CPU_HALF_CONVERT_H_

#include <cstdint>

#include "diopi_core/half.h"

namespace diopigen::cpu {

using namespace core;

// Whether this machine has the instructions; the functions below need them.
bool has_half_instructions();

void widen(const Half* from, float* to, int64_t count);
// Rounds to nearest, ties to even.
void narrow(const float* from, Half* to, int64_t count);

// The sum of products, in a few lanes.
float dot_halves(const float* a, const Half* b, int64_t count);

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_HALF_CONVERT_H_
