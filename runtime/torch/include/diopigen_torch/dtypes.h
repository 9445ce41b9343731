// Sets of dtypes, by the words of the spec.
#ifndef DIOPIGEN_TORCH_DTYPES_H_
#define DIOPIGEN_TORCH_DTYPES_H_

#include <c10/core/ScalarType.h>
#include <diopi/diopirt.h>

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

bool isIn(Dtypes dtypes, at::ScalarType type) noexcept;

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_DTYPES_H_
