// Gradients of Linear: the leading dimensions of the input count as rows. The loops.
#include "linalg_matmul/batches.h"
#include "linalg_matmul/linalg_matmul_kernels.h"

namespace diopigen::core {

void sum_rows(const Tensor& sums, const Tensor& tensor) {
    const int64_t columns = sums.numel;
    const int64_t rows = columns == 0 ? 0 : tensor.numel / columns;
    dispatch_compute<kFloating | kComplex>(tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        using Sum = Accumulator<T>;
        const Input<T> values(tensor);
        const Output<T> result(sums);
        constexpr int64_t kWidth = 64;
        parallel_for((columns + kWidth - 1) / kWidth, row_grain(rows * kWidth), [&](int64_t begin, int64_t end) {
            for (int64_t first = begin * kWidth; first < std::min(columns, end * kWidth); first += kWidth) {
                const int64_t width = std::min(kWidth, columns - first);
                Sum totals[kWidth] = {};
                for (int64_t i = 0; i < rows; ++i) {
                    for (int64_t j = 0; j < width; ++j) {
                        totals[j] = totals[j] + cast<Sum>(values[i * columns + first + j]);
                    }
                }
                std::transform(totals, totals + width, result.data() + first, [](Sum sum) { return cast<T>(sum); });
            }
        });
        result.store();
    });
}

}  // namespace diopigen::core
