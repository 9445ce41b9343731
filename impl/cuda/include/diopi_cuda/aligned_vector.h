// Neighbouring elements by one access to memory, read as the type that is computed in.
#ifndef DIOPI_CUDA_ALIGNED_VECTOR_H_
#define DIOPI_CUDA_ALIGNED_VECTOR_H_

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "diopi_core/dtype.h"
#include "diopi_cuda/launch.h"

// A loop over registers: they have no addresses, so that it must be laid out in full.
#if defined(__CUDACC__)
#define DIOPI_UNROLL _Pragma("unroll")
// A loop over memory, of which several turns are under way together.
#define DIOPI_AHEAD _Pragma("unroll 4")
#else
#define DIOPI_UNROLL
#define DIOPI_AHEAD
#endif

namespace diopigen::cuda {

// Division of 32 bits is several times as quick as that of 64.
DIOPI_DEVICE inline int64_t quotient(int64_t a, int64_t b) {
    return ((a | b) >> 32) == 0 ? static_cast<uint32_t>(a) / static_cast<uint32_t>(b) : a / b;
}

// What elements that are stored as S are computed in.
template <typename S>
using Computed = std::conditional_t<std::is_same_v<S, double>, double, float>;

// The widest access has 16 bytes: so many elements.
template <typename S>
constexpr int kVectorSize = 16 / static_cast<int>(sizeof(S));

// `n` elements, as they come from memory.
template <typename S, int n>
struct alignas(sizeof(S) * n) AlignedVector {
    S elements[n];
};

// 16 bytes are one access, whatever they hold.
template <typename S, int n>
DIOPI_DEVICE inline AlignedVector<S, n> load_vector(const S* from) {
#if defined(DIOPI_CUDA_EMULATION)
    require(reinterpret_cast<uintptr_t>(from) % sizeof(AlignedVector<S, n>) == 0, "a vector is not aligned");
#endif
    if constexpr (sizeof(AlignedVector<S, n>) == 16) {
        const auto bits = *reinterpret_cast<const AlignedVector<uint32_t, 4>*>(from);
        AlignedVector<S, n> vector;
        std::memcpy(static_cast<void*>(&vector), &bits, sizeof(vector));
        return vector;
    } else {
        return *reinterpret_cast<const AlignedVector<S, n>*>(from);
    }
}

template <typename S, int n>
DIOPI_DEVICE inline void store_vector(S* to, const Computed<S>* values) {
#if defined(DIOPI_CUDA_EMULATION)
    require(reinterpret_cast<uintptr_t>(to) % sizeof(AlignedVector<S, n>) == 0, "a vector is not aligned");
#endif
    AlignedVector<S, n> vector;
    DIOPI_UNROLL
    for (int i = 0; i < n; ++i) {
        vector.elements[i] = static_cast<S>(values[i]);
    }
    if constexpr (sizeof(vector) == 16) {
        AlignedVector<uint32_t, 4> bits;
        std::memcpy(&bits, &vector, sizeof(vector));
        *reinterpret_cast<AlignedVector<uint32_t, 4>*>(to) = bits;
    } else {
        *reinterpret_cast<AlignedVector<S, n>*>(to) = vector;
    }
}

template <typename S, int n>
DIOPI_DEVICE inline void unpack(Computed<S>* values, const AlignedVector<S, n>& vector) {
    DIOPI_UNROLL
    for (int i = 0; i < n; ++i) {
        values[i] = static_cast<Computed<S>>(vector.elements[i]);
    }
}

// Whether every row of `length` elements of S begins where 16 bytes do, in all arrays. Null ones do not count.
template <typename S>
bool can_vectorize(int64_t length, std::initializer_list<const void*> arrays) {
    bool result = length % kVectorSize<S> == 0;
    for (const void* array : arrays) {
        result = result && reinterpret_cast<uintptr_t>(array) % 16 == 0;
    }
    return result;
}

// Calls `body(std::integral_constant<int, n>())` with the elements of one access: 16 bytes, or one element.
template <typename S, typename Body>
void dispatch_vectors(bool is_vectorized, Body&& body) {
    is_vectorized ? body(std::integral_constant<int, kVectorSize<S>>()) : body(std::integral_constant<int, 1>());
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ALIGNED_VECTOR_H_
