#include "diopi_cpu/finite.h"

#include <atomic>

#include "diopi_core/clones.h"
#include "diopi_core/threads.h"

namespace diopigen::cpu {

namespace {

constexpr int64_t kGrain = 1 << 16;

template <typename T>
inline __attribute__((always_inline)) bool is_finite_range(const T* values, int64_t begin, int64_t end) {
    int found = 0;
    for (int64_t i = begin; i < end; ++i) {
        // NaN in, NaN out; and infinity minus itself is NaN.
        const T zero = values[i] - values[i];
        found |= zero != zero ? 1 : 0;
    }
    return found == 0;
}

DIOPI_CPU_CLONES bool is_finite_part(const float* values, int64_t begin, int64_t end) {
    return is_finite_range(values, begin, end);
}

DIOPI_CPU_CLONES bool is_finite_part(const double* values, int64_t begin, int64_t end) {
    return is_finite_range(values, begin, end);
}

DIOPI_CPU_CLONES bool is_finite_part(const Bfloat16* values, int64_t begin, int64_t end) {
    constexpr uint16_t kExponent = 0x7F80;
    int found = 0;
    for (int64_t i = begin; i < end; ++i) {
        found |= (values[i].bits & kExponent) == kExponent ? 1 : 0;
    }
    return found == 0;
}

template <typename T>
bool are_all_finite(const T* values, int64_t count) {
    std::atomic<bool> is_finite{true};
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
        if (!is_finite_part(values, begin, end)) {
            is_finite = false;
        }
    });
    return is_finite;
}

}  // namespace

bool are_finite(const float* values, int64_t count) { return are_all_finite(values, count); }
bool are_finite(const double* values, int64_t count) { return are_all_finite(values, count); }
bool are_finite(const Bfloat16* values, int64_t count) { return are_all_finite(values, count); }

}  // namespace diopigen::cpu
