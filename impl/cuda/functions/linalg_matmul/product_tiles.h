// Products of matrices by tiles of the result, each by a group with the factors' parts in shared memory.
#ifndef DIOPI_CUDA_LINALG_MATMUL_PRODUCT_TILES_H_
#define DIOPI_CUDA_LINALG_MATMUL_PRODUCT_TILES_H_

#include <type_traits>

#include "diopi_core/gemm.h"
#include "diopi_cuda/aligned_vector.h"
#include "diopi_cuda/operand.h"

namespace diopigen::cuda {

// A batch of matrices in memory, with strides in bytes.
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

    // The element (i, j) of matrix k as T; S is how it is stored, or void where only `dtype` tells.
    template <typename T, typename S = void>
    DIOPI_DEVICE T at(int64_t k, int64_t i, int64_t j) const {
        const char* const address = data + k * batch + i * row + j * column;
        if constexpr (std::is_void_v<S>) {
            return load<T>(address, dtype);
        } else {
            return static_cast<T>(*reinterpret_cast<const S*>(address));
        }
    }
    // Whether neighbours in a column lie closer together than those in a row.
    bool goes_down() const { return (row < 0 ? -row : row) < (column < 0 ? -column : column); }
};

// The fewest threads that a group of kThreads may have here.
#if defined(DIOPI_CUDA_EMULATION)
constexpr int kFewestThreads = 32;
#else
constexpr int kFewestThreads = kThreads;
#endif

// out = alpha a b + beta added, with sums kept in A, by tiles of kSide x kSide elements. A thread has pieces of
// kPiece x kPiece elements in registers; S is how the factors are stored, or void (MatrixView::at). The sum of an
// element runs over the inner dimension in order.
template <typename A, typename S, int kSide, int kPiece>
void multiply_tiles(const MatrixView& out, const MatrixView& a, const MatrixView& b, const MatrixView& added, bool adds,
                    const ProductSize& size, A alpha, A beta) {
    constexpr int kDepth = 16;
    constexpr int kPieces = kSide / kPiece;                                         // to a row of the tile
    constexpr int kPiecesPerThread = (kPieces * kPieces - 1) / kFewestThreads + 1;  // pieces of a thread
    constexpr int n = kPiece < kVectorSize<A> ? kPiece : kVectorSize<A>;            // elements of an access
    constexpr int kPitch = kSide + n;  // keeps threads off each other's banks
    static_assert(kPiece % n == 0 && kPitch % n == 0, "pieces are read by vectors");
    const int64_t across = (size.columns + kSide - 1) / kSide;
    const int64_t down = (size.rows + kSide - 1) / kSide;
    const int64_t bytes = 2 * kDepth * kPitch * static_cast<int64_t>(sizeof(A));
    const bool a_goes_down = a.goes_down();
    const bool b_goes_down = b.goes_down();
    for_groups(size.count * down * across, kThreads, bytes, [=] DIOPI_KERNEL(Group & group, int64_t tile) {
        A* const left = group.template shared<A>();  // [kDepth, kPitch], and so is
        A* const right = left + kDepth * kPitch;
        const int64_t k = tile / across / down;
        const int64_t top = tile / across % down * kSide;
        const int64_t side = tile % across * kSide;
        A sums[kPiecesPerThread][kPiece][kPiece];
        DIOPI_UNROLL
        for (int e = 0; e < kPiecesPerThread * kPiece * kPiece; ++e) {
            sums[e / kPiece / kPiece][e / kPiece % kPiece][e % kPiece] = A(0);
        }
        for (int64_t start = 0; start < size.inner; start += kDepth) {
            for (int e = group.thread(); e < kSide * kDepth; e += group.size()) {
                const int row = a_goes_down ? e % kSide : e / kDepth;
                const int depth = a_goes_down ? e / kSide : e % kDepth;
                const bool is_inside = top + row < size.rows && start + depth < size.inner;
                left[depth * kPitch + row] = is_inside ? a.template at<A, S>(k, top + row, start + depth) : A(0);
            }
            for (int e = group.thread(); e < kSide * kDepth; e += group.size()) {
                const int column = b_goes_down ? e / kDepth : e % kSide;
                const int depth = b_goes_down ? e % kDepth : e / kSide;
                const bool is_inside = side + column < size.columns && start + depth < size.inner;
                right[depth * kPitch + column] =
                    is_inside ? b.template at<A, S>(k, start + depth, side + column) : A(0);
            }
            group.sync();
            for (int depth = 0; depth < kDepth; ++depth) {
                DIOPI_UNROLL
                for (int round = 0; round < kPiecesPerThread; ++round) {
                    const int piece = group.thread() + round * group.size();
                    if (piece >= kPieces * kPieces) {
                        continue;
                    }
                    const A* const rows = left + depth * kPitch + piece / kPieces * kPiece;
                    const A* const columns = right + depth * kPitch + piece % kPieces * kPiece;
                    AlignedVector<A, n> x[kPiece / n];
                    AlignedVector<A, n> y[kPiece / n];
                    DIOPI_UNROLL
                    for (int v = 0; v < kPiece / n; ++v) {
                        x[v] = *reinterpret_cast<const AlignedVector<A, n>*>(rows + v * n);
                        y[v] = *reinterpret_cast<const AlignedVector<A, n>*>(columns + v * n);
                    }
                    DIOPI_UNROLL
                    for (int e = 0; e < kPiece * kPiece; ++e) {
                        A& sum = sums[round][e / kPiece][e % kPiece];
                        sum = sum +
                              x[e / kPiece / n].elements[e / kPiece % n] * y[e % kPiece / n].elements[e % kPiece % n];
                    }
                }
            }
            group.sync();
        }
        DIOPI_UNROLL
        for (int round = 0; round < kPiecesPerThread; ++round) {
            const int piece = group.thread() + round * group.size();
            DIOPI_UNROLL
            for (int e = 0; e < kPiece * kPiece; ++e) {
                const int64_t i = top + piece / kPieces * kPiece + e / kPiece;
                const int64_t j = side + piece % kPieces * kPiece + e % kPiece;
                if (piece < kPieces * kPieces && i < size.rows && j < size.columns) {
                    A value = alpha * sums[round][e / kPiece][e % kPiece];
                    if (adds) {
                        value = beta * added.template at<A>(k, i, j) + value;
                    }
                    char* to = const_cast<char*>(out.data) + k * out.batch + i * out.row + j * out.column;
                    store<A>(to, out.dtype, value);
                }
            }
        }
    });
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_LINALG_MATMUL_PRODUCT_TILES_H_
