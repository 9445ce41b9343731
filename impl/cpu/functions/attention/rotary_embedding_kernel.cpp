#include <algorithm>

#include "attention/attention_kernels.h"
#include "diopi_core/dense.h"
#include "diopi_core/raw_elements.h"
#include "diopi_core/reduction.h"

namespace diopigen::core::attention {

namespace {

// Rotates the heads of all tokens, pairing elements i and i + size / 2. The angles have `size` elements per token.
template <typename T>
void rotate_halves_of(T* heads, int64_t tokens, int64_t width, int64_t size, const T* cosines, const T* sines) {
    const int64_t half = size / 2;
    parallel_for(tokens, row_grain(width), [&](int64_t begin, int64_t end) {
        for (int64_t token = begin; token < end; ++token) {
            const T* cosine = cosines + token * size;
            const T* sine = sines + token * size;
            for (T* head = heads + token * width; head < heads + (token + 1) * width; head += size) {
                for (int64_t i = 0; i < half; ++i) {
                    const T a = head[i];
                    const T b = head[i + half];
                    head[i] = a * cosine[i] - b * sine[i];
                    head[i + half] = b * cosine[i + half] + a * sine[i + half];
                }
            }
        }
    });
}

}  // namespace

void rotate_pairs(const Tensor& out, const Tensor& x, const Tensor& cos, const Tensor& sin, bool conj,
                  bool interleaved) {
    const int64_t angles_of_position = std::max<int64_t>(cos.rank == 3 ? cos.shape[1] : 1, 1);
    const int64_t positions = x.shape[x.rank - 3] * angles_of_position;
    const int64_t heads = x.shape[x.rank - 2] / angles_of_position;
    const int64_t size = x.shape[x.rank - 1];
    const int64_t half = size / 2;
    dispatch_compute<kFloating>(x.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> from(x);
        const Input<T> cosines(cos);
        const Input<T> sines(sin);
        const Output<T> to(out);
        const int64_t rows = size == 0 ? 0 : x.numel / size;
        parallel_for(rows, row_grain(size), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t angles = row / heads % positions * half;
                for (int64_t i = 0; i < half; ++i) {
                    const int64_t first = row * size + (interleaved ? 2 * i : i);
                    const int64_t second = interleaved ? first + 1 : first + half;
                    const T cosine = cosines[angles + i];
                    const T sine = conj ? -sines[angles + i] : sines[angles + i];
                    const T a = from[first];
                    const T b = from[second];
                    to[first] = a * cosine - b * sine;
                    to[second] = a * sine + b * cosine;
                }
            }
        });
        to.store();
    });
}

void rotate_halves(const Tensor& heads_tensor, const Tensor& cos, const Tensor& sin, int64_t size) {
    const int64_t tokens = heads_tensor.shape[0];
    const int64_t width = tokens == 0 ? 0 : heads_tensor.numel / tokens;
    dispatch_compute<kFloating>(heads_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> cosines(cos);
        const Input<T> sines(sin);
        const Changed heads(heads_tensor, dtype_of<T>);
        rotate_halves_of(heads.as<T>(), tokens, width, size, cosines.data(), sines.data());
        heads.store();
    });
}

}  // namespace diopigen::core::attention
