// Checks of values against dtypes, for operators that create or fill.
#ifndef DIOPI_CPU_RANGES_H_
#define DIOPI_CPU_RANGES_H_

#include <cstdint>
#include <initializer_list>

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

// Whether an integral dtype can hold the number, cut to a whole one; for uint8 also the negatives of what it can hold,
// as torch.fill_ allows. True for all other dtypes.
bool is_in_range(const Number& number, Dtype dtype);

// Whether all numbers are whole.
bool are_whole(std::initializer_list<Number> numbers);

// The number of elements of arange: (end - start) / step, rounded up. Exact where all are whole.
int64_t arange_length(const Number& start, const Number& end, const Number& step);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_RANGES_H_
