// What products need in addition to products: conjugated factors and sums over rows.
#include "diopi_cuda/reduce.h"
#include "diopi_cuda/size.h"
#include "linalg_matmul/batches.h"
#include "linalg_matmul/linalg_matmul_kernels.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::cuda {

namespace {

template <typename T>
void conjugate(T* to, const T* from, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { to[i] = conj(from[i]); });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

Conjugated::Conjugated(const Tensor& tensor) {
    if (!is_complex(tensor.dtype)) {
        view_.emplace(tensor, shape_of(tensor), std::vector<int64_t>(tensor.strides, tensor.strides + tensor.rank));
        return;
    }
    dispatch<kComplex>(tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> values(tensor);
        copy_.allocate(tensor.numel * size_of(tensor.dtype));
        cuda::conjugate<T>(static_cast<T*>(copy_.data()), values.data(), tensor.numel);
    });
    view_.emplace(dense_view(copy_.data(), tensor.dtype, tensor, shape_of(tensor)));
}

void sum_rows(const Tensor& sums, const Tensor& tensor) {
    Rows rows;
    for (int64_t d = 0; d + 1 < tensor.rank; ++d) {
        rows.reduced.push_back(d);
        rows.length *= tensor.shape[d];
    }
    rows.outer.push_back(tensor.rank - 1);
    rows.count = tensor.shape[tensor.rank - 1];
    reduce_sum(sums, tensor, rows);
}

}  // namespace diopigen::core
