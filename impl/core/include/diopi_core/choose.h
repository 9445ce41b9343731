// Choosing between two values that are both computed.
#ifndef DIOPI_CORE_CHOOSE_H_
#define DIOPI_CORE_CHOOSE_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "diopi_core/half.h"
#include "diopi_core/integer.h"

namespace diopigen::core {

template <typename T>
constexpr bool is_float_type = std::is_floating_point_v<T>;

// `first` where the condition holds, else `second`. Of floats by masks of bits: a compiler that saw a branch would move
// the computation of a value that is used on one side only behind it, and a loop with a call behind a branch is not
// vectorised.
DIOPI_HOST_DEVICE inline float where(bool condition, float first, float second) {
    const uint32_t mask = uint32_t{0} - static_cast<uint32_t>(condition);
    return float_of((bits_of(first) & mask) | (bits_of(second) & ~mask));
}
DIOPI_HOST_DEVICE inline double where(bool condition, double first, double second) {
    uint64_t selected;
    uint64_t other;
    std::memcpy(&selected, &first, sizeof(selected));
    std::memcpy(&other, &second, sizeof(other));
    const uint64_t mask = uint64_t{0} - static_cast<uint64_t>(condition);
    selected = (selected & mask) | (other & ~mask);
    double result;
    std::memcpy(&result, &selected, sizeof(result));
    return result;
}
// Of integers by their numbers: GCC takes a choice between objects for a branch.
template <typename I>
DIOPI_HOST_DEVICE inline Integer<I> where(bool condition, Integer<I> first, Integer<I> second) {
    return Integer<I>(condition ? first.value : second.value);
}
DIOPI_HOST_DEVICE inline Bool where(bool condition, Bool first, Bool second) {
    return Bool(condition ? first.value : second.value);
}
template <typename T, std::enable_if_t<!is_float_type<T>, int> = 0>
DIOPI_HOST_DEVICE inline T where(bool condition, T first, T second) {
    return condition ? first : second;
}
template <typename T>
DIOPI_HOST_DEVICE inline T where(Bool condition, T first, T second) {
    return where(static_cast<bool>(condition), first, second);
}

// Both conditions, or either, without a branch.
DIOPI_HOST_DEVICE inline bool both(bool one, bool other) { return one & other; }
DIOPI_HOST_DEVICE inline bool either(bool one, bool other) { return one | other; }

// A value as one that was computed: GCC does not store copies of an object several at once.
template <typename T>
DIOPI_HOST_DEVICE inline T copy_of(T x) {
    return x;
}
template <typename I>
DIOPI_HOST_DEVICE inline Integer<I> copy_of(Integer<I> x) {
    return Integer<I>(x.value);
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_CHOOSE_H_
