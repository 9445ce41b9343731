// Products of tensors by cuBLASLt where it takes them, else by tiles in shared memory, for all dtypes and strides.
#include "diopi_cpu/gemm.h"
#include "diopi_cuda/blas.h"
#include "diopi_cuda/operand.h"

namespace diopi::cuda {

namespace {

constexpr int kTile = 16;

// A batch of matrices in memory, with steps in bytes.
struct MatrixView {
    const char* data;
    Dtype dtype;
    int64_t batch;
    int64_t row;
    int64_t column;

    explicit MatrixView(const Tensor& tensor)
        : data(static_cast<const char*>(tensor.data)),
          dtype(tensor.dtype),
          batch(tensor.shape[0] == 1 ? 0 : tensor.strides[0] * size_of(tensor.dtype)),
          row(tensor.strides[1] * size_of(tensor.dtype)),
          column(tensor.strides[2] * size_of(tensor.dtype)) {}

    template <typename T>
    DIOPI_DEVICE T at(int64_t k, int64_t i, int64_t j) const {
        return load<T>(data + k * batch + i * row + j * column, dtype);
    }
};

// out = alpha a b + beta added, with sums kept in A. The group of a tile of the result has at least a thread for each
// kShare of its elements.
template <typename A>
void multiply_tiles(const MatrixView& out, const MatrixView& a, const MatrixView& b, const MatrixView& added, bool adds,
                    const ProductSize& size, A alpha, A beta) {
    constexpr int kElements = kTile * kTile;
    constexpr int kShare = 8;
    const int64_t across = (size.columns + kTile - 1) / kTile;
    const int64_t down = (size.rows + kTile - 1) / kTile;
    const int64_t bytes = 2 * kElements * static_cast<int64_t>(sizeof(A));
    for_groups(size.count * down * across, kThreads, bytes, [=] DIOPI_KERNEL(Group & group, int64_t tile) {
        A* left = group.template shared<A>();
        A* right = left + kElements;
        const int64_t k = tile / across / down;
        const int64_t top = tile / across % down * kTile;
        const int64_t side = tile % across * kTile;
        A sums[kShare];
        for (A& sum : sums) {
            sum = A(0);
        }
        for (int64_t start = 0; start < size.inner; start += kTile) {
            for (int e = group.thread(); e < kElements; e += group.size()) {
                const int64_t i = top + e / kTile;
                const int64_t j = side + e % kTile;
                const int64_t column = start + e % kTile;
                const int64_t row = start + e / kTile;
                left[e] = i < size.rows && column < size.inner ? a.template at<A>(k, i, column) : A(0);
                right[e] = row < size.inner && j < size.columns ? b.template at<A>(k, row, j) : A(0);
            }
            group.sync();
            for (int n = 0; n < kShare; ++n) {
                const int e = group.thread() + n * group.size();
                if (e < kElements) {
                    A sum = sums[n];
                    for (int at = 0; at < kTile; ++at) {
                        sum = sum + left[e / kTile * kTile + at] * right[at * kTile + e % kTile];
                    }
                    sums[n] = sum;
                }
            }
            group.sync();
        }
        for (int n = 0; n < kShare; ++n) {
            const int e = group.thread() + n * group.size();
            const int64_t i = top + e / kTile;
            const int64_t j = side + e % kTile;
            if (e < kElements && i < size.rows && j < size.columns) {
                A value = alpha * sums[n];
                if (adds) {
                    value = beta * added.template at<A>(k, i, j) + value;
                }
                char* to = const_cast<char*>(out.data) + k * out.batch + i * out.row + j * out.column;
                store<A>(to, out.dtype, value);
            }
        }
    });
}

template <typename A>
void multiply_as(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                 const Tensor& added) {
    const bool adds = !added.is_null() && beta.value() != 0;
    const ProductSize size{a.shape[1], a.shape[2], b.shape[2], out.shape[0]};
    const MatrixView result(out);
    multiply_tiles<A>(result, MatrixView(a), MatrixView(b), adds ? MatrixView(added) : result, adds, size,
                      alpha.as<A>(), beta.as<A>());
}

}  // namespace

void multiply_batch(const Tensor& out, const Tensor& a, const Tensor& b, const Number& alpha, const Number& beta,
                    const Tensor& added) {
    if (out.numel == 0) {
        return;
    }
    for (const Tensor* tensor : {&out, &a, &b, &added}) {
        require_on_device(*tensor);
    }
    const View summand = added.is_null() ? View(Tensor(), {}, {}) : expanded(added, shape_of(out));
    if (multiply_by_blas(out, a, b, alpha, beta, summand.tensor())) {
        return;
    }
    const Dtype dtype = compute_of(out.dtype);
    if (is_complex(dtype)) {
        multiply_as<Complex128>(out, a, b, alpha, beta, summand.tensor());
    } else if (dtype == Dtype::kFloat32) {
        multiply_as<float>(out, a, b, alpha, beta, summand.tensor());
    } else if (dtype == Dtype::kFloat64) {
        multiply_as<double>(out, a, b, alpha, beta, summand.tensor());
    } else {
        multiply_as<Int64>(out, a, b, alpha, beta, summand.tensor());
    }
}

}  // namespace diopi::cuda

namespace diopi::cpu {

void multiply_tensors(const Tensor& out, const Tensor& a, const Tensor& b, Number alpha, Number beta,
                      const Tensor& added) {
    cuda::multiply_batch(out, a, b, alpha, beta, added);
}

}  // namespace diopi::cpu
