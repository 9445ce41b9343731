// Unfold, a copy of overlapping views, and its gradient, a sum over them. The loops.
#include "diopi_core/raw_elements.h"
#include "shape/shape_kernels.h"

namespace diopigen::core {

void add_up_windows(const Tensor& result, const Tensor& gradient, const DimSplit& split, int64_t count, int64_t size,
                    int64_t step) {
    dispatch_compute<kFloating | kComplex>(result.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(gradient);
        const Output<T> sums(result);
        std::fill_n(sums.data(), result.numel, T(0));
        const int64_t cost = count * size;
        parallel_columns(split.outer, split.inner, cost, [&](int64_t outer, int64_t begin, int64_t end) {
            for (int64_t w = 0; w < count; ++w) {
                for (int64_t i = begin; i < end; ++i) {
                    const T* window = source.data() + ((outer * count + w) * split.inner + i) * size;
                    T* target = sums.data() + (outer * split.size + w * step) * split.inner + i;
                    for (int64_t k = 0; k < size; ++k) {
                        target[k * split.inner] += window[k];
                    }
                }
            }
        });
        sums.store();
    });
}

}  // namespace diopigen::core
