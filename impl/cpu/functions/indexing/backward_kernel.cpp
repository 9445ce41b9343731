// Gradients of IndexSelect and Embedding, which add slices up. The loops.
#include "indexing/indexing_kernels.h"
#include "indexing/positions.h"

namespace diopigen::core {

void add_up_slices(const Tensor& result, const Tensor& gradient, const Positions& positions, const DimSplit& split) {
    dispatch_compute<kFloating | kComplex>(result.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(gradient);
        const Output<T> sums(result);
        std::fill_n(sums.data(), result.numel, T(0));
        add_slices(sums.data(), source.data(), positions, positions.count(), split);
        sums.store();
    });
}

void add_up_rows(const Tensor& out_tensor, const Tensor& grad_tensor, const Positions& rows, int64_t padding_idx,
                 bool scale_grad_byfreq) {
    const int64_t num_weights = out_tensor.shape[0];
    const int64_t width = out_tensor.shape[1];
    std::vector<int64_t> times(static_cast<size_t>(scale_grad_byfreq ? num_weights : 0), 0);
    for (int64_t k = 0; scale_grad_byfreq && k < rows.count(); ++k) {
        ++times[rows[k]];
    }
    dispatch_compute<kFloating>(out_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> source(grad_tensor);
        const Output<T> sums(out_tensor);
        std::fill_n(sums.data(), out_tensor.numel, T(0));
        parallel_columns(1, width, rows.count(), [&](int64_t, int64_t begin, int64_t end) {
            for (int64_t k = 0; k < rows.count(); ++k) {
                const int64_t row = rows[k];
                if (row != padding_idx) {
                    add_to(sums.data() + row * width + begin, source.data() + k * width + begin, end - begin);
                }
            }
            for (int64_t row = 0; row < static_cast<int64_t>(times.size()); ++row) {
                for (int64_t i = begin; times[row] > 1 && i < end; ++i) {
                    sums[row * width + i] /= static_cast<T>(times[row]);
                }
            }
        });
        sums.store();
    });
}

}  // namespace diopigen::core
