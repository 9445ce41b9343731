// Loops over one row of scores, for the instruction sets that the machine may have.
#ifndef DIOPI_CPU_FUNCTIONS_ATTENTION_ROWS_H_
#define DIOPI_CPU_FUNCTIONS_ATTENTION_ROWS_H_

#include <cstdint>

namespace diopigen::core::attention {

// The largest element; NaN counts for nothing, and no elements give minus infinity.
float largest(const float* row, int64_t count);
double largest(const double* row, int64_t count);
// Turns every element x into exp(x - shift); their sum.
float exponentiate(float* row, int64_t count, float shift);
double exponentiate(double* row, int64_t count, double shift);
bool is_finite(const float* row, int64_t count);
bool is_finite(const double* row, int64_t count);
// gradients[j] = scale * row[j] * (gradients[j] - centre)
void to_scores(const float* row, float* gradients, int64_t count, float scale, float centre);
void to_scores(const double* row, double* gradients, int64_t count, double scale, double centre);

}  // namespace diopigen::core::attention

#endif  // DIOPI_CPU_FUNCTIONS_ATTENTION_ROWS_H_
