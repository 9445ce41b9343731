// RotaryEmbedding and RotaryEmbeddingV2 (RoFormer): pairs of elements of each head are rotated by the angle of their
// position.
#include <diopi/functions.h>
#include <diopi/functions_ext.h>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/reduction.h"
#include "diopi_cpu/words.h"
#include "operands.h"

using namespace diopi::cpu;

namespace {

int64_t per_token(const Tensor& tensor) { return tensor.shape[0] == 0 ? 0 : tensor.numel / tensor.shape[0]; }

// Rotates the heads of all tokens, pairing elements i and i + size / 2. The angles have `size` elements per token.
template <typename T>
void rotate_halves(T* heads, int64_t tokens, int64_t width, int64_t size, const T* cosines, const T* sines) {
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

DIOPI_API diopiError_t diopiRotaryEmbedding(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t x, diopiConstTensorHandle_t cos,
                                            diopiConstTensorHandle_t sin, const bool conj, const bool interleaved) {
    return guarded("diopiRotaryEmbedding", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor x_tensor = tensor("x", x, kFloating);
        const Tensor cos_tensor = tensor("cos", cos, kFloating);
        const Tensor sin_tensor = tensor("sin", sin, kFloating);
        require_rank(x_tensor, 3);
        const int64_t positions = x_tensor.shape[x_tensor.rank - 3];
        const int64_t heads = x_tensor.shape[x_tensor.rank - 2];
        const int64_t size = x_tensor.shape[x_tensor.rank - 1];
        const int64_t half = size / 2;
        require(size % 2 == 0, "C1: the last dimension of x is even");
        require_same_dtype(out_tensor, x_tensor);
        require_same_shape(out_tensor, x_tensor);
        require_no_overlap(out_tensor);
        require_no_overlap(out_tensor, x_tensor);
        for (const Tensor* angle : {&cos_tensor, &sin_tensor}) {
            require_same_dtype(*angle, x_tensor);
            require_shape(*angle, {positions, 1, half});
            require_disjoint(out_tensor, *angle);
            require_one_device({&out_tensor, &x_tensor, angle});
        }
        dispatch_compute<kFloating>(x_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> from(x_tensor);
            const Input<T> cosines(cos_tensor);
            const Input<T> sines(sin_tensor);
            const Output<T> to(out_tensor);
            const int64_t rows = size == 0 ? 0 : x_tensor.numel / size;
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
    });
}

DIOPI_API diopiError_t diopiRotaryEmbeddingV2(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t query,
                                              diopiTensorHandle_t key, diopiConstTensorHandle_t cos,
                                              diopiConstTensorHandle_t sin, int64_t dim) {
    return guarded("diopiRotaryEmbeddingV2", [&] {
        const Tensor query_tensor = tensor("query", query, kFloating);
        const Tensor key_tensor = tensor("key", key, kFloating);
        const Tensor cos_tensor = tensor("cos", cos, kFloating);
        const Tensor sin_tensor = tensor("sin", sin, kFloating);
        require(dim > 0 && dim % 2 == 0, "C1: dim is even and above 0");
        for (const Tensor* operand : {&query_tensor, &key_tensor, &cos_tensor, &sin_tensor}) {
            require_same_dtype(*operand, query_tensor);
            require_rank(*operand, 1);
            require(operand->shape[0] == query_tensor.shape[0], "query, key, cos and sin differ in their tokens");
        }
        require(per_token(query_tensor) % dim == 0 && per_token(key_tensor) % dim == 0,
                "C2: the elements per token of query and key are multiples of dim");
        const int64_t tokens = query_tensor.shape[0];
        require(cos_tensor.numel == tokens * dim && sin_tensor.numel == tokens * dim,
                "C3: cos and sin hold dim elements per token");
        require_same_shape(sin_tensor, cos_tensor);
        attention::require_separate({&query_tensor, &key_tensor}, {&cos_tensor, &sin_tensor});
        dispatch_compute<kFloating>(query_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> cosines(cos_tensor);
            const Input<T> sines(sin_tensor);
            for (const Tensor* target : {&query_tensor, &key_tensor}) {
                const Changed heads(*target, dtype_of<T>);
                rotate_halves(heads.as<T>(), tokens, per_token(*target), dim, cosines.data(), sines.data());
                heads.store();
            }
        });
    });
}
