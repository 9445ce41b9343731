#include <cmath>

#include "diopi_core/raw_elements.h"
#include "serving/serving_kernels.h"

namespace diopigen::core::serving {

void add_to_residual(const Tensor& residual, const Tensor& layer, const Tensor& bias) {
    const int64_t length = residual.shape[residual.rank - 1];
    dispatch_compute<kFloating>(residual.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Changed sums(residual, dtype_of<T>);
        const Input<T> added(layer);
        const Input<T> shift(bias);
        parallel_for(length == 0 ? 0 : residual.numel / length, row_grain(length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                T* sum = sums.as<T>() + row * length;
                const T* from = added.data() + row * length;
                for (int64_t i = 0; i < length; ++i) {
                    sum[i] += shift ? from[i] + shift[i] : from[i];
                }
            }
        });
        sums.store();
    });
}

void multiply_by_silu(const Tensor& gate, const Tensor& up) {
    dispatch_compute<kFloating>(gate.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Changed gates(gate, dtype_of<T>);
        const Input<T> factors(up);
        parallel_for(gate.numel, kParallelChunk, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const T x = gates.as<T>()[i];
                gates.as<T>()[i] = x / (1 + std::exp(-x)) * factors[i];
            }
        });
        gates.store();
    });
}

}  // namespace diopigen::core::serving
