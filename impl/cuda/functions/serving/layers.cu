// The loops of the layers: sums of residuals, gates, and the new tokens of caches.
#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/operand.h"
#include "diopi_cuda/to_device.h"
#include "serving/serving_kernels.h"

namespace diopigen::cuda {

namespace {

using core::serving::CacheIndex;
using core::serving::Heads;

template <typename T>
void add_to_residual(T* sums, const T* layer, const T* bias, int64_t count, int64_t length) {
    for_each(count,
             [=] DIOPI_KERNEL(int64_t i) { sums[i] += bias != nullptr ? layer[i] + bias[i % length] : layer[i]; });
}

template <typename T>
void multiply_by_silu(T* gates, const T* factors, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        const T x = gates[i];
        gates[i] = x / (1 + numeric::exp(-x)) * factors[i];
    });
}

// A cache of one layer in device memory.
template <typename T>
struct Cache {
    explicit Cache(const Tensor& tensor) : data(tensor.elements<T>()) {
        for (int i = 0; i < 4; ++i) {
            strides[i] = tensor.strides[i];
        }
    }
    DIOPI_DEVICE void write(const CacheIndex& at, int64_t head, int64_t i, float value) const {
        data[at.sequence * strides[0] + head * strides[1] + at.position * strides[2] + i * strides[3]] =
            core::cast<T>(value);
    }

    T* data;
    int64_t strides[4];
};

// Rotates elements 2 i and 2 i + 1 by the angle of a position, which is computed in double.
DIOPI_DEVICE void rotate(float& a, float& b, int64_t pair, int64_t position, const Heads& heads) {
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(heads.rotated);
    const double angle = static_cast<double>(position) * numeric::pow(heads.theta, exponent);
    const double cosine = numeric::cos(angle);
    const double sine = numeric::sin(angle);
    const double first = a;
    const double second = b;
    a = static_cast<float>(first * cosine - second * sine);
    b = static_cast<float>(first * sine + second * cosine);
}

// A thread to an element of a row of queries, keys and values, or to the two of a pair.
template <typename T>
void write_tokens(float* queries, const Cache<T>& keys, const Cache<T>& values, const float* rows, const float* bias,
                  const CacheIndex* tokens, int64_t count, const Heads& heads) {
    const int64_t all = heads.queries + 2 * heads.keys;
    const int64_t pairs = (heads.size + 1) / 2;
    for_each(count * all * pairs, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t token = k / (all * pairs);
        const int64_t head = k / pairs % all;
        const int64_t i = 2 * (k % pairs);
        const CacheIndex at = tokens[token];
        const bool has_two = i + 1 < heads.size;
        const int64_t from = (token * all + head) * heads.size + i;
        const int64_t shift = head * heads.size + i;
        float first = rows[from] + (bias != nullptr ? bias[shift] : 0.0F);
        float second = has_two ? rows[from + 1] + (bias != nullptr ? bias[shift + 1] : 0.0F) : 0.0F;
        if (head < heads.queries + heads.keys && i < heads.rotated) {
            rotate(first, second, i / 2, at.position, heads);
        }
        if (head < heads.queries) {
            float* query = queries + (token * heads.queries + head) * heads.size + i;
            query[0] = at.sequence < 0 ? 0.0F : first;
            if (has_two) {
                query[1] = at.sequence < 0 ? 0.0F : second;
            }
        } else if (at.sequence >= 0) {
            const bool is_key = head < heads.queries + heads.keys;
            const Cache<T>& cache = is_key ? keys : values;
            const int64_t own = is_key ? head - heads.queries : head - heads.queries - heads.keys;
            cache.write(at, own, i, first);
            if (has_two) {
                cache.write(at, own, i + 1, second);
            }
        }
    });
}

template <typename T>
void add_as(const Tensor& residual, const Tensor& layer, const Tensor& bias) {
    const Changed sums(residual, core::dtype_of<T>);
    const Input<T> added(layer);
    const Input<T> shift(bias);
    add_to_residual<T>(sums.as<T>(), added.data(), shift.data(), residual.numel, residual.shape[residual.rank - 1]);
    sums.store();
}

template <typename T>
void multiply_as(const Tensor& gate, const Tensor& up) {
    const Changed gates(gate, core::dtype_of<T>);
    const Input<T> factors(up);
    multiply_by_silu<T>(gates.as<T>(), factors.data(), gate.numel);
    gates.store();
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core::serving {

void add_to_residual(const Tensor& residual, const Tensor& layer, const Tensor& bias) {
    dispatch_compute<kFloating>(residual.dtype,
                                [&](auto sample) { cuda::add_as<decltype(sample)>(residual, layer, bias); });
}

void multiply_by_silu(const Tensor& gate, const Tensor& up) {
    dispatch_compute<kFloating>(gate.dtype, [&](auto sample) { cuda::multiply_as<decltype(sample)>(gate, up); });
}

void cache_tokens(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& projected,
                  const Tensor& bias, const std::vector<CacheIndex>& tokens, const Heads& heads) {
    const Input<float> rows(projected);
    const Input<float> shift(bias);
    const Output<float> to(queries);
    const Buffer list = cuda::to_device(tokens);
    cuda::require_on_device(keys);
    cuda::require_on_device(values);
    dispatch<kFloating>(keys.dtype, [&](auto sample) {
        using T = decltype(sample);
        cuda::write_tokens<T>(to.data(), cuda::Cache<T>(keys), cuda::Cache<T>(values), rows.data(), shift.data(),
                              static_cast<const CacheIndex*>(list.data()), projected.shape[0], heads);
    });
    to.store();
}

}  // namespace diopigen::core::serving
