// Sets of dtypes, by the words of the spec.
#ifndef DIOPIGEN_TORCH_DTYPES_H_
#define DIOPIGEN_TORCH_DTYPES_H_

#include <scalar_types.h>

#include <array>
#include <cstddef>

namespace diopigen::backend {

namespace detail {

// Every tensor of every call is asked for its dtype.
inline constexpr auto kDtypes = [] {
    std::array<diopiDtype_t, c10::NumScalarTypes> dtypes{};
    for (diopiDtype_t& dtype : dtypes) {
        dtype = diopi_dtype_unsupported;
    }
    for (const ScalarTypeOfDtype& one : kScalarTypes) {
        dtypes[static_cast<size_t>(one.type)] = one.dtype;
    }
    return dtypes;
}();

}  // namespace detail

/// diopi_dtype_unsupported for dtypes that the interface does not have.
inline diopiDtype_t dtype_of(c10::ScalarType type) noexcept { return detail::kDtypes[static_cast<size_t>(type)]; }
/// Throws for dtypes that PyTorch does not have.
c10::ScalarType scalar_type_of(diopiDtype_t dtype);

inline bool is_in(Dtypes dtypes, c10::ScalarType type) noexcept {
    const diopiDtype_t dtype = dtype_of(type);
    return dtype != diopi_dtype_unsupported && (dtypes >> dtype & 1) != 0;
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_DTYPES_H_
