// What the normalisations have in common: what their contracts leave open, statistics in double, and the gradient
// through mean and deviation.
#ifndef DIOPI_CORE_NORM_STATISTICS_H_
#define DIOPI_CORE_NORM_STATISTICS_H_

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/kernel_checks.h"
#include "diopi_core/reduction.h"
#include "spans.h"

namespace diopigen::core {

// Factors have the dtype of the input, or float32 for float16 and bfloat16, as mixed precision has them.
inline void require_factor_dtypes(std::initializer_list<const Tensor*> factors, const Tensor& input) {
    const bool is_half = input.dtype == Dtype::kFloat16 || input.dtype == Dtype::kBfloat16;
    for (const Tensor* factor : factors) {
        if (!is_half || factor->dtype != Dtype::kFloat32) {
            require_same_dtype(*factor, input);
        }
    }
}

// The dtype that holds the input and its factors, which have passed `require_factor_dtypes`.
inline Dtype dtype_with_factors(const Tensor& input, std::initializer_list<const Tensor*> factors) {
    for (const Tensor* factor : factors) {
        if (!factor->is_null() && factor->dtype != input.dtype) {
            return factor->dtype;
        }
    }
    return input.dtype;
}

struct Moments {
    double mean;
    double invstd;  // 1 / sqrt(variance + eps), of the biased variance
};

template <typename T>
Moments moments_of(const T* x, int64_t length, double eps) {
    const auto count = static_cast<double>(length);
    const double mean = spans::sum(x, length) / count;
    return {mean, 1 / std::sqrt(spans::squares(x, length, mean) / count + eps)};
}

// The gradient with respect to elements that were normalised together. `weight` holds the factor on each element, or is
// null for 1.
template <typename T>
void moments_gradient(const T* x, const T* grad_out, const T* weight, T* result, int64_t length, Moments moments) {
    const auto count = static_cast<double>(length);
    const spans::Sums sums = spans::products(grad_out, weight, x, length, moments.mean);
    const double product = sums.product * moments.invstd;
    spans::gradient(grad_out, weight, x, result, length, moments.mean, moments.invstd, sums.own / count,
                    moments.invstd * product / count);
}

// Samples with channels: element i of channel c of sample n is at (n * channels + c) * spatial + i.
struct Channels {
    // Dimensions 1 to `first_normalised` - 1 count channels together.
    explicit Channels(const Tensor& input, int64_t first_normalised = 2) : samples(input.shape[0]) {
        for (int64_t i = 1; i < input.rank; ++i) {
            (i < first_normalised ? count : spatial) *= input.shape[i];
        }
    }

    int64_t elements() const { return samples * spatial; }
    int64_t first(int64_t sample, int64_t channel) const { return (sample * count + channel) * spatial; }
    int64_t grain() const { return row_grain(elements()); }
    // Calls `visit` with the position of each element of a channel.
    template <typename Visit>
    void for_each(int64_t channel, Visit&& visit) const {
        for (int64_t n = 0; n < samples; ++n) {
            for (int64_t i = first(n, channel); i < first(n, channel) + spatial; ++i) {
                visit(i);
            }
        }
    }

    // Calls `visit` with the first position of each row of `spatial` elements of a channel.
    template <typename Visit>
    void for_each_row(int64_t channel, Visit&& visit) const {
        for (int64_t n = 0; n < samples; ++n) {
            visit(first(n, channel));
        }
    }

    int64_t samples;
    int64_t count = 1;
    int64_t spatial = 1;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_NORM_STATISTICS_H_
