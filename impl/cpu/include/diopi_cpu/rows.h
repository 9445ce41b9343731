// Reductions of one row, to be inlined into clones (diopi_core/clones.h): in independent running values, which do not
// wait for each other and are the same on every machine.
#ifndef DIOPI_CPU_ROWS_H_
#define DIOPI_CPU_ROWS_H_

#include <algorithm>
#include <cstdint>

#define DIOPI_CPU_INLINE inline __attribute__((always_inline))

namespace diopigen::cpu {

constexpr int kSumLanes = 16;

// In this form compilers make vector instructions of it. NaN is larger than every number.
template <typename T>
DIOPI_CPU_INLINE T larger(T best, T value) {
    const T better = value > best ? value : best;
    return value != value ? value : better;
}

// The largest element of a row that is not empty.
template <typename T>
DIOPI_CPU_INLINE T row_maximum(const T* x, int64_t length) {
    constexpr int kLanes = 32;
    T result = x[0];
    int64_t i = 0;
    if (length >= kLanes) {
        T lanes[kLanes];
        std::copy_n(x, kLanes, lanes);
        for (i = kLanes; i + kLanes <= length; i += kLanes) {
            for (int lane = 0; lane < kLanes; ++lane) {
                lanes[lane] = larger(lanes[lane], x[i + lane]);
            }
        }
        for (int width = kLanes / 2; width > 0; width /= 2) {
            for (int lane = 0; lane < width; ++lane) {
                lanes[lane] = larger(lanes[lane], lanes[lane + width]);
            }
        }
        result = lanes[0];
    }
    for (; i < length; ++i) {
        result = larger(result, x[i]);
    }
    return result;
}

// The sum of `term(i)` in double.
template <typename Term>
DIOPI_CPU_INLINE double row_sum(int64_t length, Term&& term) {
    double lanes[kSumLanes] = {};
    int64_t i = 0;
    for (; i + kSumLanes <= length; i += kSumLanes) {
        for (int lane = 0; lane < kSumLanes; ++lane) {
            lanes[lane] += static_cast<double>(term(i + lane));
        }
    }
    double sum = 0;
    for (; i < length; ++i) {
        sum += static_cast<double>(term(i));
    }
    for (int width = kSumLanes / 2; width > 0; width /= 2) {
        for (int lane = 0; lane < width; ++lane) {
            lanes[lane] += lanes[lane + width];
        }
    }
    return sum + lanes[0];
}

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_ROWS_H_
