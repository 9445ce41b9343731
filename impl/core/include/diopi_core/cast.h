// Casts between all element types, defined for every value (see integer.h). The halves convert through float; a complex
// number loses its imaginary part.
#ifndef DIOPI_CORE_CAST_H_
#define DIOPI_CORE_CAST_H_

#include <type_traits>

#include "diopi_core/dtype.h"

namespace diopigen::core {

template <typename To, typename From>
DIOPI_HOST_DEVICE inline To cast(From from) {
    if constexpr (std::is_same_v<To, From>) {
        if constexpr (std::is_same_v<To, Bool>) {
            return Bool(from.value);
        } else {
            return from;
        }
    } else if constexpr (is_half(dtype_of<From>)) {
        return cast<To>(static_cast<float>(from));
    } else if constexpr (is_complex_type<From>) {
        if constexpr (is_complex_type<To>) {
            return To(static_cast<Real<To>>(from.real()), static_cast<Real<To>>(from.imag()));
        } else if constexpr (std::is_same_v<To, Bool>) {
            return Bool(from.real() != 0 || from.imag() != 0);
        } else {
            return cast<To>(from.real());
        }
    } else if constexpr (is_complex_type<To>) {
        return To(cast<Real<To>>(from), Real<To>(0));
    } else if constexpr (is_half(dtype_of<To>)) {
        return To(static_cast<float>(from));
    } else {
        return static_cast<To>(from);
    }
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_CAST_H_
