// What the kernels of elementwise.h share: the types of operands, where they lie, numbers in place of tensors.
#ifndef DIOPI_CUDA_ELEMENTWISE_OPERANDS_H_
#define DIOPI_CUDA_ELEMENTWISE_OPERANDS_H_

#include <cstring>

#include "diopi_cuda/elementwise.h"
#include "diopi_cuda/paths.h"

namespace diopigen::cuda::detail {

// The type of an operand, by its letter in the signature.
template <typename T, char kind>
struct KindOf {
    using type = T;
};
template <typename T>
struct KindOf<T, 't'> {
    using type = Bool;
};
template <typename T>
struct KindOf<T, 'r'> {
    using type = Real<T>;
};
template <typename T>
struct KindOf<T, 'p'> {
    using type = numeric::complex<T>;
};

// Calls `body.template at<k>()` for k in [0, n).
template <int n, int k = 0, typename Body>
DIOPI_DEVICE inline void unroll(Body& body) {
    if constexpr (k < n) {
        body.template at<k>();
        unroll<n, k + 1>(body);
    }
}

template <typename V>
DIOPI_HOST_DEVICE inline V rounded_to(Dtype half, V value) {
    if constexpr (std::is_same_v<V, float>) {
        if (half == Dtype::kFloat16) {
            return static_cast<float>(Half(value));
        }
        if (half == Dtype::kBfloat16) {
            return static_cast<float>(Bfloat16(value));
        }
    }
    return value;
}

// ---- Filled by the host. ----

template <int n, int k = 0, typename Body>
void unroll_on_host(Body& body) {
    if constexpr (k < n) {
        body.template at<k>();
        unroll_on_host<n, k + 1>(body);
    }
}

// The number that input k is, as V.
template <typename V>
V number_of(const ElementwiseJob& job, int k) {
    V value{};
    if (job.on_host[k] != nullptr) {
        const Tensor& tensor = *job.on_host[k];
        dispatch<kAny>(tensor.dtype, [&](auto sample) {
            using Stored = decltype(sample);
            Stored stored;
            std::memcpy(&stored, tensor.data, sizeof(Stored));
            value = cast<V>(stored);
        });
    } else {
        value = job.numbers[k].template as<V>();
    }
    return rounded_to(job.rounded[k], value);
}

template <typename Kinds, typename T>
struct NumbersOf {
    const ElementwiseJob& job;
    Slot* numbers;
    template <int k>
    void at() {
        using V = typename KindOf<T, Kinds::at(k)>::type;
        if (job.operands[k].data == nullptr) {
            numbers[k].template as<V>() = number_of<V>(job, k);
        }
    }
};

template <typename T>
Common common_of(const ElementwiseJob& job) {
    Common common;
    for (int k = 0; k < kMaxConstants; ++k) {
        common.constants[k].template as<T>() = job.constants[k].template as<T>();
        common.integers[k] = job.constants[k].integer;
    }
    common.result = job.result;
    return common;
}

}  // namespace diopigen::cuda::detail

#endif  // DIOPI_CUDA_ELEMENTWISE_OPERANDS_H_
