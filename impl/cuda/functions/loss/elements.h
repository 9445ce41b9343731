// The operands of losses that are computed element by element, some elements at a time.
#ifndef DIOPI_CUDA_LOSS_ELEMENTS_H_
#define DIOPI_CUDA_LOSS_ELEMENTS_H_

#include "diopi_cuda/aligned_vector.h"

namespace diopigen::cuda {

// The operands of a loss, in order. Null factors are 1.
template <typename S>
struct LossOperands {
    const S* input;
    const S* target;
    const S* weight;
    const S* positive;
    int64_t count;
    bool is_vectorized;  // each begins where 16 bytes do
};

// `n` elements from `first` on, of which `left` are there.
template <typename S, int n, typename T>
DIOPI_DEVICE inline void load_some(T* to, const S* from, int64_t first, int left, bool is_vectorized, T otherwise) {
    if (from != nullptr && is_vectorized && left >= n) {
        const AlignedVector<S, n> vector = load_vector<S, n>(from + first);
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            to[i] = static_cast<T>(static_cast<Computed<S>>(vector.elements[i]));
        }
    } else {
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            to[i] = from != nullptr && i < left ? static_cast<T>(static_cast<Computed<S>>(from[first + i])) : otherwise;
        }
    }
}

template <typename S, int n, typename T>
DIOPI_DEVICE inline void store_some(S* to, const T* values, int64_t first, int left, bool is_vectorized) {
    Computed<S> stored[n];
    DIOPI_UNROLL
    for (int i = 0; i < n; ++i) {
        stored[i] = static_cast<Computed<S>>(values[i]);
    }
    if (is_vectorized && left >= n) {
        store_vector<S, n>(to + first, stored);
    } else {
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            if (i < left) {
                to[first + i] = static_cast<S>(stored[i]);
            }
        }
    }
}

// A vector of what a formula gets.
template <typename S>
struct LossElements {
    using T = Computed<S>;
    static constexpr int n = kVectorSize<S>;

    T x[n];
    T y[n];
    T weight[n];
    T positive[n];
    int left;

    DIOPI_DEVICE LossElements(const LossOperands<S>& all, int64_t first)
        : left(all.count - first < n ? static_cast<int>(all.count - first) : n) {
        load_some<S, n>(x, all.input, first, left, all.is_vectorized, T(0));
        load_some<S, n>(y, all.target, first, left, all.is_vectorized, T(0));
        load_some<S, n>(weight, all.weight, first, left, all.is_vectorized, T(1));
        load_some<S, n>(positive, all.positive, first, left, all.is_vectorized, T(1));
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_LOSS_ELEMENTS_H_
