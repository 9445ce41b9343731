// Products cut into blocks that the threads split.
#include "diopi_core/gemm.h"

namespace diopigen::core {

namespace {

constexpr int64_t kBlocks = 32;              // so many blocks at least, where they stay large enough
constexpr int64_t kShortest = 128;           // side of a block
constexpr int64_t kLongest = 1024;           // side of a block
constexpr int64_t kLeastWork = 1 << 17;      // products in a block
constexpr int64_t kInner = 4096;             // of a slice, where blocks alone do not suffice
constexpr int64_t kLargestSliced = 1 << 16;  // elements of results that are added up from slices

int64_t ceil_of(int64_t number, int64_t divisor) { return (number + divisor - 1) / divisor; }

// How results are cut: into blocks, or along the inner dimension.
struct Cut {
    int64_t rows;
    int64_t columns;
    int64_t inner;

    explicit Cut(const ProductSize& size)
        : rows(std::min(size.rows, kLongest)), columns(std::min(size.columns, kLongest)), inner(size.inner) {
        while (blocks(size) < kBlocks && rows * columns * inner >= 2 * kLeastWork &&
               std::max(rows, columns) > kShortest) {
            int64_t& longer = rows > columns ? rows : columns;
            longer = std::max(kShortest, ceil_of(ceil_of(longer, 2), 16) * 16);
        }
        if (blocks(size) < kBlocks / 4 && size.inner >= 2 * kInner &&
            size.count * size.rows * size.columns <= kLargestSliced) {
            inner = kInner;
        }
    }
    int64_t across(const ProductSize& size) const { return ceil_of(size.columns, columns); }
    int64_t blocks(const ProductSize& size) const { return size.count * ceil_of(size.rows, rows) * across(size); }
};

template <typename T>
Matrix<T> part(const Matrix<T>& matrix, int64_t batch, int64_t row, int64_t column) {
    const int64_t at = matrix.is_transposed ? column * matrix.stride + row : row * matrix.stride + column;
    return {matrix.data + batch * matrix.batch_stride + at, matrix.stride, matrix.is_transposed, 0};
}

template <typename T>
void multiply_slices(const ProductSize& size, const Cut& cut, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta,
                     T* c, int64_t stride, int64_t batch_stride) {
    const int64_t slices = ceil_of(size.inner, cut.inner);
    const int64_t elements = size.rows * size.columns;
    Buffer buffer;
    buffer.allocate(slices * size.count * elements * static_cast<int64_t>(sizeof(T)));
    T* const sums = static_cast<T*>(buffer.data());
    parallel_for(size.count * slices, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t batch = i / slices;
            const int64_t first = i % slices * cut.inner;
            const ProductSize own{size.rows, std::min(cut.inner, size.inner - first), size.columns};
            gemm_block<T>(own, T(1), part(a, batch, 0, first), part(b, batch, first, 0), T(0), sums + i * elements,
                          size.columns);
        }
    });
    for (int64_t batch = 0; batch < size.count; ++batch) {
        for (int64_t i = 0; i < elements; ++i) {
            T sum = 0;
            for (int64_t slice = 0; slice < slices; ++slice) {
                sum += sums[(batch * slices + slice) * elements + i];
            }
            T& to = c[batch * batch_stride + i / size.columns * stride + i % size.columns];
            to = beta == 0 ? alpha * sum : alpha * sum + beta * to;
        }
    }
}

}  // namespace

template <typename T>
void gemm(const ProductSize& size, T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c, int64_t stride,
          int64_t batch_stride) {
    if (size.count * size.rows * size.columns == 0) {
        return;
    }
    const Cut cut(size);
    if (cut.inner < size.inner) {
        multiply_slices(size, cut, alpha, a, b, beta, c, stride, batch_stride);
        return;
    }
    const int64_t across = cut.across(size);
    const int64_t down = ceil_of(size.rows, cut.rows);
    const int64_t work = std::max<int64_t>(1, cut.rows * cut.columns * cut.inner);
    parallel_for(size.count * across * down, 1 + kLeastWork / 4 / work, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t batch = i / (across * down);
            const int64_t row = i % down * cut.rows;
            const int64_t column = i / down % across * cut.columns;
            const ProductSize own{std::min(cut.rows, size.rows - row), size.inner,
                                  std::min(cut.columns, size.columns - column)};
            gemm_block<T>(own, alpha, part(a, batch, row, 0), part(b, batch, 0, column), beta,
                          c + batch * batch_stride + row * stride + column, stride);
        }
    });
}

template void gemm(const ProductSize&, float, const Matrix<float>&, const Matrix<float>&, float, float*, int64_t,
                   int64_t);
template void gemm(const ProductSize&, double, const Matrix<double>&, const Matrix<double>&, double, double*, int64_t,
                   int64_t);

}  // namespace diopigen::core
