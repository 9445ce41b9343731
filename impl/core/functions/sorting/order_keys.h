// Elements as unsigned numbers in the same order: NaN above all numbers, zeros of both signs alike.
#ifndef DIOPI_CORE_ORDER_KEYS_H_
#define DIOPI_CORE_ORDER_KEYS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "diopi_core/dtype.h"
#include "diopi_core/host_device.h"

namespace diopigen::core {

// 32 bits hold the keys of all types but those of 64 bits.
template <typename T>
using OrderKey = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
constexpr OrderKey<T> kHighBit = OrderKey<T>{1} << (8 * sizeof(OrderKey<T>) - 1);

template <typename T>
DIOPI_HOST_DEVICE inline OrderKey<T> order_key(T value) {
    using Key = OrderKey<T>;
    if constexpr (std::is_floating_point_v<T>) {
        // Adding zero makes -0 of +0.
        const T number = value + T(0);
        Key bits;
        std::memcpy(&bits, &number, sizeof(bits));
        const Key key = bits ^ ((bits & kHighBit<T>) != 0 ? ~Key{0} : kHighBit<T>);
        return value != value ? ~Key{0} : key;
    } else if constexpr (std::is_same_v<T, Bool>) {
        return static_cast<Key>(value.value != 0);
    } else {
        // Sign extension keeps the order of narrow types.
        using Widened = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
        return static_cast<Key>(static_cast<Widened>(value.value)) ^ kHighBit<T>;
    }
}

// The element of a key, unless several elements have it.
template <typename T>
inline T element_of_key(OrderKey<T> key) {
    using Key = OrderKey<T>;
    if constexpr (std::is_floating_point_v<T>) {
        const Key bits = key ^ ((key & kHighBit<T>) != 0 ? kHighBit<T> : ~Key{0});
        T value;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    } else if constexpr (std::is_same_v<T, Bool>) {
        return Bool(static_cast<int>(key));
    } else {
        return T(static_cast<std::make_signed_t<Key>>(key ^ kHighBit<T>));
    }
}

// Whether several elements have the same key.
template <typename T>
inline bool is_ambiguous_key(OrderKey<T> key) {
    return std::is_floating_point_v<T> && (key == ~OrderKey<T>{0} || key == kHighBit<T>);
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_ORDER_KEYS_H_
