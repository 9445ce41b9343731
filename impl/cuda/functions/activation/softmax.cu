// Softmax, its logarithm and their gradients along contiguous rows. Rows that fit in registers are
// read once; longer ones are cut into parts, read once for their sums and once for the result.
#include "activation/activation_kernels.h"
#include "diopi_cuda/rows.h"
#include "softmax_parts.h"

namespace diopigen::cuda {

namespace {

template <typename S>
constexpr int kHeldElements = sizeof(S) == 8 ? 16 : 32;
// Of one row; a gradient holds two.
template <typename S, int n>
constexpr int kHeldVectors = n == 1 ? 16 : kHeldElements<S> / n;

template <typename S, int n>
struct HeldForward {
    using T = Computed<S>;
    static constexpr int kHeld = kHeldVectors<S, n>;

    RowTiles rows;
    S* to;  // null: the states alone
    const S* from;
    bool is_log;
    Exponentials* states;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const ThreadTile tile(group, rows.tile);
        const int64_t row = rows.row(group, k);
        const int length = rows.length_of(row);
        T x[kHeld * n];
        load_row<S, n, kHeld>(x, from + row * rows.length, length, tile, lowest<T>());
        T top = x[0];
        DIOPI_UNROLL
        for (int i = 1; i < kHeld * n; ++i) {
            top = larger(top, x[i]);
        }
        top = tile.reduce(top, [](T a, T b) { return larger(a, b); });
        // In place of what the row lacks stands the exponential of minus infinity: 0, unless the row has nothing else.
        double sum = 0;
        if (to == nullptr) {
            // Of minus infinity alone the sum is 0, as in parts.
            const T shift = top == lowest<T>() ? T(0) : top;
            DIOPI_UNROLL
            for (int i = 0; i < kHeld * n; ++i) {
                x[i] = exponential<S>(x[i] - shift);
            }
            sum = tile.sum(sum_of<n, kHeld>(x));
            if (row < rows.rows && tile.thread() == 0) {
                states[row].top = static_cast<double>(top);
                states[row].sum = sum;
            }
            return;
        }
        if (is_log) {
            DIOPI_UNROLL
            for (int v = 0; v < kHeld; ++v) {
                T part = 0;
                DIOPI_UNROLL
                for (int i = v * n; i < (v + 1) * n; ++i) {
                    x[i] = x[i] - top;
                    part += exponential<S>(x[i]);
                }
                sum += static_cast<double>(part);
            }
            const T shift = static_cast<T>(numeric::log(tile.sum(sum)));
            DIOPI_UNROLL
            for (int i = 0; i < kHeld * n; ++i) {
                x[i] = x[i] - shift;
            }
        } else {
            DIOPI_UNROLL
            for (int i = 0; i < kHeld * n; ++i) {
                x[i] = exponential<S>(x[i] - top);
            }
            sum = sum_of<n, kHeld>(x);
            const T inverse_sum = T(1) / static_cast<T>(tile.sum(sum));
            DIOPI_UNROLL
            for (int i = 0; i < kHeld * n; ++i) {
                x[i] = x[i] * inverse_sum;
            }
        }
        store_row<S, n, kHeld>(to + row * rows.length, x, length, tile);
    }
};

template <typename S, int n>
struct HeldBackward {
    using T = Computed<S>;
    static constexpr int kHeld = n == 1 ? 16 : 4;

    RowTiles rows;
    S* to;
    const S* grad_out;
    const S* output;
    bool is_log;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const ThreadTile tile(group, rows.tile);
        const int64_t row = rows.row(group, k);
        const int length = rows.length_of(row);
        const int64_t first = row * rows.length;
        T g[kHeld * n];
        T y[kHeld * n];
        load_row<S, n, kHeld>(g, grad_out + first, length, tile, T(0));
        load_row<S, n, kHeld>(y, output + first, length, tile, T(0));
        // What the sum of the gradients is taken with: the probabilities, or 1.
        double sum = 0;
        DIOPI_UNROLL
        for (int v = 0; v < kHeld; ++v) {
            T part = 0;
            DIOPI_UNROLL
            for (int i = v * n; i < (v + 1) * n; ++i) {
                part += is_log ? g[i] : g[i] * y[i];
            }
            sum += static_cast<double>(part);
        }
        const T total = static_cast<T>(tile.sum(sum));
        if (is_log) {
            DIOPI_UNROLL
            for (int i = 0; i < kHeld * n; ++i) {
                g[i] = g[i] - exponential<S>(y[i]) * total;
            }
        } else {
            DIOPI_UNROLL
            for (int i = 0; i < kHeld * n; ++i) {
                g[i] = (g[i] - total) * y[i];
            }
        }
        store_row<S, n, kHeld>(to + first, g, length, tile);
    }
};

template <typename S, int n>
void exponentials_in_parts(const RowParts& parts, Exponentials* rows, const S* from) {
    Buffer memory;
    memory.allocate(parts.count() * static_cast<int64_t>(sizeof(Exponentials)));
    auto* const states = static_cast<Exponentials*>(memory.data());
    for_groups(parts.count(), kThreads, 0, PartSums<S, n>{parts, from, states});
    join_rows(parts, rows, states, JoinExponentials());
}

template <typename S, int n>
void forward(S* to, const S* from, int64_t count, int64_t length, bool is_log) {
    const RowTiles tiles(count, length, n, HeldForward<S, n>::kHeld);
    if (tiles.fits) {
        for_groups(tiles.groups(), tiles.threads, 0, HeldForward<S, n>{tiles, to, from, is_log, nullptr});
        return;
    }
    const RowParts parts(count, length);
    Buffer memory;
    memory.allocate(count * static_cast<int64_t>(sizeof(Exponentials)));
    auto* const rows = static_cast<Exponentials*>(memory.data());
    exponentials_in_parts<S, n>(parts, rows, from);
    for_groups(parts.count(), kThreads, 0, WriteParts<S, n>{parts, to, from, rows, is_log});
}

template <typename S, int n>
void backward(S* to, const S* grad_out, const S* output, int64_t count, int64_t length, bool is_log) {
    const RowTiles tiles(count, length, n, HeldBackward<S, n>::kHeld);
    if (tiles.fits) {
        for_groups(tiles.groups(), tiles.threads, 0, HeldBackward<S, n>{tiles, to, grad_out, output, is_log});
        return;
    }
    const RowParts parts(count, length);
    Buffer memory;
    memory.allocate((parts.count() + count) * static_cast<int64_t>(sizeof(double)));
    auto* const states = static_cast<double*>(memory.data());
    double* const rows = states + parts.count();
    for_groups(parts.count(), kThreads, 0, PartProducts<S, n>{parts, grad_out, output, states, is_log});
    join_rows(parts, rows, states, Add());
    for_groups(parts.count(), kThreads, 0, WriteGradientParts<S, n>{parts, to, grad_out, output, rows, is_log});
}

}  // namespace

template <typename S>
void exponentials_of_rows(Exponentials* states, const S* from, int64_t rows, int64_t length) {
    dispatch_vectors<S>(can_vectorize<S>(length, {from}), [&](auto width) {
        constexpr int n = decltype(width)::value;
        const RowTiles tiles(rows, length, n, HeldForward<S, n>::kHeld);
        if (tiles.fits) {
            for_groups(tiles.groups(), tiles.threads, 0, HeldForward<S, n>{tiles, nullptr, from, false, states});
        } else {
            exponentials_in_parts<S, n>(RowParts(rows, length), states, from);
        }
    });
}

template void exponentials_of_rows(Exponentials*, const float*, int64_t, int64_t);
template void exponentials_of_rows(Exponentials*, const double*, int64_t, int64_t);
template void exponentials_of_rows(Exponentials*, const Half*, int64_t, int64_t);
template void exponentials_of_rows(Exponentials*, const Bfloat16*, int64_t, int64_t);

}  // namespace diopigen::cuda

namespace diopigen::core {

void softmax_along(SoftmaxKind kind, const Tensor& out, const Tensor& first, const Tensor& second,
                   const DimSplit& split) {
    const bool is_log = kind == SoftmaxKind::kLogSoftmax || kind == SoftmaxKind::kLogSoftmaxGradient;
    const bool backward = is_gradient(kind);
    if (out.numel == 0) {
        return;
    }
    dispatch<kFloating>(softmax_dtype(out, first), [&](auto sample) {
        using S = decltype(sample);
        const Input<S> a(first);
        const Input<S> b(backward ? second : Tensor());
        const Output<S> result(out);
        if (split.inner > 1) {
            cuda::softmax_of_columns<S>(backward, is_log, result.data(), a.data(), b.data(), split);
        } else {
            const bool is_vectorized = cuda::can_vectorize<S>(split.size, {a.data(), b.data(), result.data()});
            cuda::dispatch_vectors<S>(is_vectorized, [&](auto width) {
                constexpr int n = decltype(width)::value;
                if (backward) {
                    cuda::backward<S, n>(result.data(), a.data(), b.data(), split.outer, split.size, is_log);
                } else {
                    cuda::forward<S, n>(result.data(), a.data(), split.outer, split.size, is_log);
                }
            });
        }
        result.store();
    });
}

}  // namespace diopigen::core
