// The gradient of operators that pick elements along one dimension. Of repeated positions the last stays. The loops.
#include "indexing/positions.h"
#include "sorting/sorting_kernels.h"

namespace diopigen::core {

void return_slices(const Tensor& result, const Tensor& gradient, const Positions& positions, const DimSplit& split,
                   int64_t count) {
    dispatch_word(result.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput source(gradient);
        const RawOutput target(result);
        const W* from = source.as<W>();
        W* to = target.as<W>();
        std::fill_n(to, result.numel, W{});
        parallel_columns(split.outer, split.inner, count, [&](int64_t outer, int64_t begin, int64_t end) {
            for (int64_t k = 0; k < count; ++k) {
                const int64_t row = (outer * count + k) * split.inner;
                for (int64_t i = begin; i < end; ++i) {
                    to[(outer * split.size + positions[row + i]) * split.inner + i] = from[row + i];
                }
            }
        });
        target.store();
    });
}

}  // namespace diopigen::core
