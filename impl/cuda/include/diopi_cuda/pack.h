// Neighbouring elements by one access to memory, read as the type that is computed in.
#ifndef DIOPI_CUDA_PACK_H_
#define DIOPI_CUDA_PACK_H_

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

namespace diopi::cuda {

// Division of 32 bits is several times as quick as that of 64.
DIOPI_DEVICE inline int64_t quotient(int64_t a, int64_t b) {
    return ((a | b) >> 32) == 0 ? static_cast<uint32_t>(a) / static_cast<uint32_t>(b) : a / b;
}

// What elements that are stored as S are computed in.
template <typename S>
using Computed = std::conditional_t<std::is_same_v<S, double>, double, float>;

// The widest access has 16 bytes: so many elements.
template <typename S>
constexpr int kPack = 16 / static_cast<int>(sizeof(S));

// `n` elements, as they come from memory.
template <typename S, int n>
struct alignas(sizeof(S) * n) Pack {
    S elements[n];
};

// 16 bytes are one access, whatever they hold.
template <typename S, int n>
DIOPI_DEVICE inline Pack<S, n> load_pack(const S* from) {
#if defined(DIOPI_CUDA_EMULATION)
    require(reinterpret_cast<uintptr_t>(from) % sizeof(Pack<S, n>) == 0, "a vector is not aligned");
#endif
    if constexpr (sizeof(Pack<S, n>) == 16) {
        const auto words = *reinterpret_cast<const Pack<uint32_t, 4>*>(from);
        Pack<S, n> pack;
        std::memcpy(static_cast<void*>(&pack), &words, sizeof(pack));
        return pack;
    } else {
        return *reinterpret_cast<const Pack<S, n>*>(from);
    }
}

template <typename S, int n>
DIOPI_DEVICE inline void store_pack(S* to, const Computed<S>* values) {
#if defined(DIOPI_CUDA_EMULATION)
    require(reinterpret_cast<uintptr_t>(to) % sizeof(Pack<S, n>) == 0, "a vector is not aligned");
#endif
    Pack<S, n> pack;
    DIOPI_UNROLL
    for (int i = 0; i < n; ++i) {
        pack.elements[i] = static_cast<S>(values[i]);
    }
    if constexpr (sizeof(pack) == 16) {
        Pack<uint32_t, 4> words;
        std::memcpy(&words, &pack, sizeof(pack));
        *reinterpret_cast<Pack<uint32_t, 4>*>(to) = words;
    } else {
        *reinterpret_cast<Pack<S, n>*>(to) = pack;
    }
}

template <typename S, int n>
DIOPI_DEVICE inline void unpack(Computed<S>* values, const Pack<S, n>& pack) {
    DIOPI_UNROLL
    for (int i = 0; i < n; ++i) {
        values[i] = static_cast<Computed<S>>(pack.elements[i]);
    }
}

// Whether every row of `length` elements of S begins where 16 bytes do, in all arrays. Null ones do not count.
template <typename S>
bool has_packs(int64_t length, std::initializer_list<const void*> arrays) {
    bool result = length % kPack<S> == 0;
    for (const void* array : arrays) {
        result = result && reinterpret_cast<uintptr_t>(array) % 16 == 0;
    }
    return result;
}

// Calls `body(std::integral_constant<int, n>())` with the elements of one access: 16 bytes, or one element.
template <typename S, typename Body>
void dispatch_packs(bool has_packs, Body&& body) {
    has_packs ? body(std::integral_constant<int, kPack<S>>()) : body(std::integral_constant<int, 1>());
}

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_PACK_H_
