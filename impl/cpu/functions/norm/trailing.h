// The trailing dimensions that LayerNorm, LayerNormGB and RMSNorm normalise together: rows side by side in memory.
#ifndef DIOPI_CPU_TRAILING_H_
#define DIOPI_CPU_TRAILING_H_

#include <vector>

#include "norm.h"

namespace diopi::cpu {

struct Trailing {
    Trailing(const Tensor& input, int64_t first) {
        for (int64_t i = 0; i < input.rank; ++i) {
            const int64_t size = input.shape[i];
            (i < first ? rows : length) *= size;
            statistics_shape.push_back(i < first ? size : 1);
            if (i >= first) {
                inner_shape.push_back(size);
            }
        }
    }

    std::vector<int64_t> statistics_shape;
    std::vector<int64_t> inner_shape;
    int64_t rows = 1;
    int64_t length = 1;
};

// One value for each row: with a size of 1 for each normalised dimension, or without these.
inline void require_statistics_shape(const Tensor& values, const Trailing& parts) {
    const std::vector<int64_t>& full = parts.statistics_shape;
    const std::vector<int64_t> outer(full.begin(), full.end() - static_cast<int64_t>(parts.inner_shape.size()));
    require_shape(values, shape_of(values) == outer ? outer : full);
}

inline Trailing trailing(const Tensor& input, diopiSize_t normalized_shape) {
    require_sizes("normalized_shape", normalized_shape);
    require(normalized_shape.len > 0, "normalized_shape.length: normalized_shape has at least 1 entry");
    const int64_t outer = input.rank - normalized_shape.len;
    require(outer >= 0, "C2: the trailing sizes of input are normalized_shape");
    for (int64_t i = outer; i < input.rank; ++i) {
        require(input.shape[i] == normalized_shape.data[i - outer],
                "C2: the trailing sizes of input are normalized_shape");
    }
    return Trailing(input, outer);
}

// Gradients with respect to scale and shift: over the rows, sums of `incoming` times what normalisation by
// `moments(row)` makes of x, and of `incoming`. Each sum runs in the order of the rows, whatever the number of threads.
template <typename T, typename Statistics>
void factor_gradients(const Trailing& parts, const T* incoming, const T* x, const Tensor& grad_weight,
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
            spans::add_columns(incoming + first, x + first, end - begin, own.mean, own.invstd, products.data(),
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

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_TRAILING_H_
