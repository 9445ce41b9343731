// The trailing dimensions that LayerNorm, LayerNormGB and RMSNorm normalise together: contiguous rows.
#ifndef DIOPI_CORE_TRAILING_H_
#define DIOPI_CORE_TRAILING_H_

#include <vector>

#include "statistics.h"

namespace diopigen::core {

struct Trailing {
    Trailing(const Tensor& input, int64_t first) {
        for (int64_t i = 0; i < input.rank; ++i) {
            (i < first ? rows : length) *= input.shape[i];
        }
    }

    int64_t rows = 1;
    int64_t length = 1;
};

inline Trailing trailing(const Tensor& input, diopiSize_t normalized_shape) {
    return Trailing(input, input.rank - normalized_shape.len);
}

// Gradients with respect to scale and shift: over the rows, sums of `grad_out` times what normalisation by
// `moments(row)` makes of x, and of `grad_out`. Each sum runs in the order of the rows, whatever the number of threads.
template <typename T, typename Statistics>
void factor_gradients(const Trailing& parts, const T* grad_out, const T* x, const Tensor& grad_weight,
                      const Tensor& grad_bias, Statistics&& moments) {
    if (grad_weight.is_null() && grad_bias.is_null()) {
        return;
    }
    const Output<T> scale(grad_weight, parts.length);
    const Output<T> shift(grad_bias, parts.length);
    parallel_for(parts.length, row_grain(parts.rows), [&](int64_t begin, int64_t end) {
        std::vector<double> products(static_cast<size_t>(end - begin), 0.0);
        std::vector<double> sums(static_cast<size_t>(end - begin), 0.0);
        for (int64_t row = 0; row < parts.rows; ++row) {
            const Moments own = moments(row);
            const int64_t first = row * parts.length + begin;
            spans::add_columns(grad_out + first, x + first, end - begin, own.mean, own.invstd, products.data(),
                               sums.data());
        }
        for (int64_t i = begin; i < end; ++i) {
            scale[i] = static_cast<T>(products[i - begin]);
            shift[i] = static_cast<T>(sums[i - begin]);
        }
    });
    scale.store();
    shift.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_TRAILING_H_
