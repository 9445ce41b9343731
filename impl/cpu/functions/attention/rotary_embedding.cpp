// RotaryEmbedding (RoFormer): pairs of elements of each head are rotated by the angle of their position.
#include <diopi/functions.h>
#include <diopi/functions_ext.h>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

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
