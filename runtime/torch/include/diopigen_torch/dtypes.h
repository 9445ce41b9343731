// Sets of dtypes, by the words of the spec.
#ifndef DIOPIGEN_TORCH_DTYPES_H_
#define DIOPIGEN_TORCH_DTYPES_H_

#include <c10/core/ScalarType.h>
#include <diopi/diopirt.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace diopigen::backend {

/// One bit for each value of diopiDtype_t.
using Dtypes = uint32_t;

inline constexpr Dtypes kBool = 1U << diopi_dtype_bool;
inline constexpr Dtypes kUint8 = 1U << diopi_dtype_uint8;
inline constexpr Dtypes kInt8 = 1U << diopi_dtype_int8;
inline constexpr Dtypes kInt16 = 1U << diopi_dtype_int16;
inline constexpr Dtypes kInt32 = 1U << diopi_dtype_int32;
inline constexpr Dtypes kInt64 = 1U << diopi_dtype_int64;
inline constexpr Dtypes kFloat16 = 1U << diopi_dtype_float16;
inline constexpr Dtypes kBfloat16 = 1U << diopi_dtype_bfloat16;
inline constexpr Dtypes kFloat32 = 1U << diopi_dtype_float32;
inline constexpr Dtypes kFloat64 = 1U << diopi_dtype_float64;
inline constexpr Dtypes kComplex64 = 1U << diopi_dtype_complex64;
inline constexpr Dtypes kComplex128 = 1U << diopi_dtype_complex128;

// The sets of specs/types.yaml.
inline constexpr Dtypes kFloating = kFloat16 | kBfloat16 | kFloat32 | kFloat64;
inline constexpr Dtypes kIntegral = kUint8 | kInt8 | kInt16 | kInt32 | kInt64;
inline constexpr Dtypes kNumber = kIntegral | kFloating;
inline constexpr Dtypes kComplex = kComplex64 | kComplex128;
inline constexpr Dtypes kAnyDtype = kBool | kNumber | kComplex;
inline constexpr Dtypes kIndex = kInt32 | kInt64;
inline constexpr Dtypes kMask = kBool | kUint8;

namespace detail {

constexpr diopiDtype_t dtypeBySwitch(c10::ScalarType type) {
    switch (type) {
        case c10::kChar:
            return diopi_dtype_int8;
        case c10::kByte:
            return diopi_dtype_uint8;
        case c10::kShort:
            return diopi_dtype_int16;
        case c10::kUInt16:
            return diopi_dtype_uint16;
        case c10::kInt:
            return diopi_dtype_int32;
        case c10::kUInt32:
            return diopi_dtype_uint32;
        case c10::kLong:
            return diopi_dtype_int64;
        case c10::kUInt64:
            return diopi_dtype_uint64;
        case c10::kHalf:
            return diopi_dtype_float16;
        case c10::kFloat:
            return diopi_dtype_float32;
        case c10::kDouble:
            return diopi_dtype_float64;
        case c10::kBool:
            return diopi_dtype_bool;
        case c10::kBFloat16:
            return diopi_dtype_bfloat16;
        case c10::kComplexHalf:
            return diopi_dtype_complex32;
        case c10::kComplexFloat:
            return diopi_dtype_complex64;
        case c10::kComplexDouble:
            return diopi_dtype_complex128;
        default:
            return diopi_dtype_unsupported;
    }
}

// Every tensor of every call is asked for its dtype.
inline constexpr auto kDtypes = [] {
    std::array<diopiDtype_t, c10::NumScalarTypes> dtypes{};
    for (size_t type = 0; type < dtypes.size(); ++type) {
        dtypes[type] = dtypeBySwitch(static_cast<c10::ScalarType>(type));
    }
    return dtypes;
}();

}  // namespace detail

/// diopi_dtype_unsupported for dtypes that the interface does not have.
inline diopiDtype_t dtypeOf(c10::ScalarType type) noexcept { return detail::kDtypes[static_cast<size_t>(type)]; }
/// Throws for dtypes that PyTorch does not have.
c10::ScalarType scalarTypeOf(diopiDtype_t dtype);

inline bool isIn(Dtypes dtypes, c10::ScalarType type) noexcept {
    const diopiDtype_t dtype = dtypeOf(type);
    return dtype != diopi_dtype_unsupported && (dtypes >> dtype & 1) != 0;
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_DTYPES_H_
