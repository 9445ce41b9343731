// RotaryEmbedding: pairs of elements rotated by angles, several pairs by one access where they are laid out so.
#include <algorithm>

#include "attention/attention_kernels.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/aligned_vector.h"
#include "diopi_cuda/operand.h"

namespace diopigen::cuda {

namespace {

struct Divided {
    int64_t quotient;
    int64_t rest;
};

// Divisions of 32 bits are several times as quick.
DIOPI_DEVICE inline Divided divided(int64_t value, int64_t by) {
    if (static_cast<uint64_t>(value | by) >> 32 == 0) {
        const uint32_t quotient = static_cast<uint32_t>(value) / static_cast<uint32_t>(by);
        return {quotient, static_cast<uint32_t>(value) - quotient * static_cast<uint32_t>(by)};
    }
    return {value / by, value % by};
}

struct RotaryLayout {
    int64_t positions;
    int64_t heads;
    int64_t half;
    bool turns_back;
};

// Elements i and i + half of each row, `n` pairs by a thread.
template <typename P, int n>
void rotate_apart(P* to, const P* from, const P* cosines, const P* sines, int64_t rows, const RotaryLayout& how) {
    for_each(rows * (how.half / n), [=] DIOPI_KERNEL(int64_t at) {
        using T = Computed<P>;
        const Divided row_index = divided(at, how.half / n);
        const int64_t i = row_index.rest * n;
        const int64_t angle =
            divided(divided(row_index.quotient, how.heads).quotient, how.positions).rest * how.half + i;
        const int64_t first = row_index.quotient * 2 * how.half + i;
        T a[n];
        T b[n];
        T cosine[n];
        T sine[n];
        unpack<P, n>(a, load_vector<P, n>(from + first));
        unpack<P, n>(b, load_vector<P, n>(from + first + how.half));
        unpack<P, n>(cosine, load_vector<P, n>(cosines + angle));
        unpack<P, n>(sine, load_vector<P, n>(sines + angle));
        DIOPI_UNROLL
        for (int e = 0; e < n; ++e) {
            const T turn = how.turns_back ? -sine[e] : sine[e];
            const T rotated = a[e] * cosine[e] - b[e] * turn;
            b[e] = a[e] * turn + b[e] * cosine[e];
            a[e] = rotated;
        }
        store_vector<P, n>(to + first, a);
        store_vector<P, n>(to + first + how.half, b);
    });
}

// Elements 2 i and 2 i + 1, `n` pairs by a thread.
template <typename P, int n>
void rotate_neighbours(P* to, const P* from, const P* cosines, const P* sines, int64_t rows, const RotaryLayout& how) {
    for_each(rows * (how.half / n), [=] DIOPI_KERNEL(int64_t at) {
        using T = Computed<P>;
        const Divided row_index = divided(at, how.half / n);
        const int64_t i = row_index.rest * n;
        const int64_t angle =
            divided(divided(row_index.quotient, how.heads).quotient, how.positions).rest * how.half + i;
        const P* const source = from + 2 * (row_index.quotient * how.half + i);
        P* const target = to + 2 * (row_index.quotient * how.half + i);
        T pairs[2 * n];
        T cosine[n];
        T sine[n];
        if constexpr (n == 1) {  // a pair need not be where an access of two may begin
            pairs[0] = static_cast<T>(source[0]);
            pairs[1] = static_cast<T>(source[1]);
        } else {
            unpack<P, 2 * n>(pairs, load_vector<P, 2 * n>(source));
        }
        unpack<P, n>(cosine, load_vector<P, n>(cosines + angle));
        unpack<P, n>(sine, load_vector<P, n>(sines + angle));
        DIOPI_UNROLL
        for (int e = 0; e < n; ++e) {
            const T turn = how.turns_back ? -sine[e] : sine[e];
            const T rotated = pairs[2 * e] * cosine[e] - pairs[2 * e + 1] * turn;
            pairs[2 * e + 1] = pairs[2 * e] * turn + pairs[2 * e + 1] * cosine[e];
            pairs[2 * e] = rotated;
        }
        if constexpr (n == 1) {
            target[0] = P(pairs[0]);
            target[1] = P(pairs[1]);
        } else {
            store_vector<P, 2 * n>(target, pairs);
        }
    });
}

// Pairs of elements i and i + half of heads, of which a token has `width` elements; the angles of a token are 2 half.
template <typename P, int n>
void rotate_halves(P* heads, const P* cosines, const P* sines, int64_t tokens, int64_t width, int64_t half) {
    for_each(tokens * (width / 2 / n), [=] DIOPI_KERNEL(int64_t at) {
        using T = Computed<P>;
        const Divided row_index = divided(at, half / n);
        const int64_t i = row_index.rest * n;
        const int64_t angle = divided(at, width / 2 / n).quotient * 2 * half + i;
        P* const head = heads + row_index.quotient * 2 * half + i;
        T a[n];
        T b[n];
        T first_cosine[n];
        T first_sine[n];
        T second_cosine[n];
        T second_sine[n];
        unpack<P, n>(a, load_vector<P, n>(head));
        unpack<P, n>(b, load_vector<P, n>(head + half));
        unpack<P, n>(first_cosine, load_vector<P, n>(cosines + angle));
        unpack<P, n>(first_sine, load_vector<P, n>(sines + angle));
        unpack<P, n>(second_cosine, load_vector<P, n>(cosines + angle + half));
        unpack<P, n>(second_sine, load_vector<P, n>(sines + angle + half));
        DIOPI_UNROLL
        for (int e = 0; e < n; ++e) {
            const T rotated = a[e] * first_cosine[e] - b[e] * first_sine[e];
            b[e] = b[e] * second_cosine[e] + a[e] * second_sine[e];
            a[e] = rotated;
        }
        store_vector<P, n>(head, a);
        store_vector<P, n>(head + half, b);
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core::attention {

void rotate_pairs(const Tensor& out, const Tensor& x, const Tensor& cos, const Tensor& sin, bool conj,
                  bool interleaved) {
    const int64_t size = x.shape[x.rank - 1];
    const int64_t rows = size == 0 ? 0 : x.numel / size;
    const int64_t angles_of_position = std::max<int64_t>(cos.rank == 3 ? cos.shape[1] : 1, 1);
    const cuda::RotaryLayout how{x.shape[x.rank - 3] * angles_of_position, x.shape[x.rank - 2] / angles_of_position,
                                 size / 2, conj};
    dispatch<kFloating>(x.dtype, [&](auto sample) {
        using P = decltype(sample);
        const Input<P> from(x);
        const Input<P> cosines(cos);
        const Input<P> sines(sin);
        const Output<P> to(out);
        const bool is_vectorized =
            cuda::can_vectorize<P>(how.half, {from.data(), to.data(), cosines.data(), sines.data()});
        cuda::dispatch_vectors<P>(is_vectorized, [&](auto width) {
            constexpr int n = decltype(width)::value;
            if (interleaved) {
                constexpr int kPairs = n == 1 ? 1 : n / 2;
                cuda::rotate_neighbours<P, kPairs>(to.data(), from.data(), cosines.data(), sines.data(), rows, how);
            } else {
                cuda::rotate_apart<P, n>(to.data(), from.data(), cosines.data(), sines.data(), rows, how);
            }
        });
        to.store();
    });
}

void rotate_halves(const Tensor& heads_tensor, const Tensor& cos, const Tensor& sin, int64_t size) {
    const int64_t tokens = heads_tensor.shape[0];
    const int64_t width = tokens == 0 ? 0 : heads_tensor.numel / tokens;
    dispatch<kFloating>(heads_tensor.dtype, [&](auto sample) {
        using P = decltype(sample);
        const Input<P> cosines(cos);
        const Input<P> sines(sin);
        const Changed heads(heads_tensor, dtype_of<P>);
        const bool is_vectorized = cuda::can_vectorize<P>(size / 2, {heads.as<P>(), cosines.data(), sines.data()});
        cuda::dispatch_vectors<P>(is_vectorized, [&](auto lanes) {
            constexpr int n = decltype(lanes)::value;
            cuda::rotate_halves<P, n>(heads.as<P>(), cosines.data(), sines.data(), tokens, width, size / 2);
        });
        heads.store();
    });
}

}  // namespace diopigen::core::attention
