// Products with matrices in compressed sparse rows: a thread for each element of the result.
#include "diopi_cuda/launch.h"
#include "sparse/sparse_kernels.h"

namespace diopigen::cuda {

namespace {

void look_for_faults(const Finding& found, const Int64* starts, const Int64* columns, int64_t rows, int64_t width,
                     int64_t stored) {
    const int64_t count = rows + 1 < stored ? stored : rows + 1;
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if ((i == 0 && starts[0].value != 0) || (i == rows && starts[rows].value != stored)) {
            found(static_cast<int64_t>(CsrFault::kEnds));
        }
        if (i < rows && starts[i + 1].value < starts[i].value) {
            found(static_cast<int64_t>(CsrFault::kFalls));
        }
        if (i < stored && (columns[i].value < 0 || columns[i].value >= width)) {
            found(static_cast<int64_t>(CsrFault::kColumn));
        }
    });
}

template <typename T>
void multiply(T* result, const T* values, const T* dense, const Int64* starts, const Int64* columns, int64_t rows,
              int64_t width) {
    for_each(rows * width, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t row = at / width;
        const int64_t i = at % width;
        double sum = 0;
        for (int64_t k = starts[row].value; k < starts[row + 1].value; ++k) {
            sum += static_cast<double>(values[k]) * static_cast<double>(dense[columns[k].value * width + i]);
        }
        result[at] = static_cast<T>(sum);
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void require_csr(const Input<Int64>& starts, const Input<Int64>& columns, int64_t rows, int64_t width, int64_t stored) {
    const cuda::Check check([](int64_t fault) { return text_of(static_cast<CsrFault>(fault)); });
    cuda::look_for_faults(check.finding(), starts.data(), columns.data(), rows, width, stored);
    check.conclude();
}

void multiply_sparse(const Tensor& out, const Tensor& values_tensor, const Tensor& dense_tensor,
                     const Input<Int64>& starts, const Input<Int64>& columns) {
    dispatch_compute<kFloating>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> values(values_tensor);
        const Input<T> dense(dense_tensor);
        const Output<T> result(out);
        cuda::multiply<T>(result.data(), values.data(), dense.data(), starts.data(), columns.data(), out.shape[0],
                          out.shape[1]);
        result.store();
    });
}

}  // namespace diopigen::core
