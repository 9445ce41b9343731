#include "diopi_core/raw_elements.h"
#include "sparse/sparse_kernels.h"

namespace diopigen::core {

void require_csr(const Input<Int64>& starts, const Input<Int64>& columns, int64_t rows, int64_t width, int64_t stored) {
    require(starts[0].value == 0 && starts[rows].value == stored, text_of(CsrFault::kEnds));
    for (int64_t row = 0; row < rows; ++row) {
        require(!(starts[row + 1] < starts[row]), text_of(CsrFault::kFalls));
    }
    for (int64_t i = 0; i < stored; ++i) {
        require(columns[i].value >= 0 && columns[i].value < width, text_of(CsrFault::kColumn));
    }
}

void multiply_sparse(const Tensor& out, const Tensor& values_tensor, const Tensor& dense_tensor,
                     const Input<Int64>& starts, const Input<Int64>& columns) {
    const int64_t rows = out.shape[0];
    const int64_t width = out.shape[1];
    dispatch_compute<kFloating>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> values(values_tensor);
        const Input<T> dense(dense_tensor);
        const Output<T> result(out);
        const int64_t cost = width * (1 + values_tensor.numel / std::max<int64_t>(rows, 1));
        parallel_for(rows, row_grain(cost), [&](int64_t begin, int64_t end) {
            std::vector<double> sums(static_cast<size_t>(width));
            for (int64_t row = begin; row < end; ++row) {
                std::fill(sums.begin(), sums.end(), 0.0);
                for (int64_t k = starts[row].value; k < starts[row + 1].value; ++k) {
                    const double factor = values[k];
                    const T* other = dense.data() + columns[k].value * width;
                    for (int64_t i = 0; i < width; ++i) {
                        sums[i] += factor * other[i];
                    }
                }
                for (int64_t i = 0; i < width; ++i) {
                    result[row * width + i] = static_cast<T>(sums[i]);
                }
            }
        });
        result.store();
    });
}

}  // namespace diopigen::core
