#include "rows.h"

#include <algorithm>
#include <limits>

#include "diopi_core/clones.h"
#include "diopi_core/vector_math.h"

namespace diopigen::core::attention {

namespace {

constexpr int kLanes = 16;  // running values that do not wait for each other

template <typename T>
inline T largest_of(const T* row, int64_t count) {
    T lanes[kLanes];
    std::fill(lanes, lanes + kLanes, -std::numeric_limits<T>::infinity());
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        DIOPI_CPU_ROLLED
        for (int lane = 0; lane < kLanes; ++lane) {
            lanes[lane] = row[i + lane] > lanes[lane] ? row[i + lane] : lanes[lane];
        }
    }
    for (; i < count; ++i) {
        lanes[0] = row[i] > lanes[0] ? row[i] : lanes[0];
    }
    return *std::max_element(lanes, lanes + kLanes);
}

template <typename T>
inline T exponentiate_all(T* row, int64_t count, T shift) {
    for (int64_t i = 0; i < count; ++i) {
        row[i] = vector_math::exp(row[i] - shift);
    }
    T lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += row[i + lane];
        }
    }
    for (; i < count; ++i) {
        lanes[0] += row[i];
    }
    T sum = 0;
    for (const T lane : lanes) {
        sum += lane;
    }
    return sum;
}

template <typename T>
inline bool are_all_finite(const T* row, int64_t count) {
    int found = 0;
    for (int64_t i = 0; i < count; ++i) {
        // NaN in, NaN out; and infinity minus itself is NaN.
        const T zero = row[i] - row[i];
        found |= zero != zero ? 1 : 0;
    }
    return found == 0;
}

template <typename T>
inline void to_scores_of(const T* row, T* gradients, int64_t count, T scale, T centre) {
    for (int64_t i = 0; i < count; ++i) {
        gradients[i] = scale * row[i] * (gradients[i] - centre);
    }
}

}  // namespace

DIOPI_CPU_CLONES float largest(const float* row, int64_t count) { return largest_of(row, count); }
DIOPI_CPU_CLONES double largest(const double* row, int64_t count) { return largest_of(row, count); }
DIOPI_CPU_CLONES float exponentiate(float* row, int64_t count, float shift) {
    return exponentiate_all(row, count, shift);
}
DIOPI_CPU_CLONES double exponentiate(double* row, int64_t count, double shift) {
    return exponentiate_all(row, count, shift);
}
DIOPI_CPU_CLONES bool is_finite(const float* row, int64_t count) { return are_all_finite(row, count); }
DIOPI_CPU_CLONES bool is_finite(const double* row, int64_t count) { return are_all_finite(row, count); }
DIOPI_CPU_CLONES void to_scores(const float* row, float* gradients, int64_t count, float scale, float centre) {
    to_scores_of(row, gradients, count, scale, centre);
}
DIOPI_CPU_CLONES void to_scores(const double* row, double* gradients, int64_t count, double scale, double centre) {
    to_scores_of(row, gradients, count, scale, centre);
}

}  // namespace diopigen::core::attention
