// Element types as C++ types. Compute types are those that kernels calculate in; storage types add half and bfloat16.
#ifndef DIOPI_CORE_DTYPE_H_
#define DIOPI_CORE_DTYPE_H_

#include <diopi/diopirt.h>
#include <diopigen/dtypes.h>

#include <array>
#include <complex>
#include <cstdint>

#include "diopi_core/half.h"
#include "diopi_core/integer.h"

namespace diopigen::core {

// Dense numbering of the dtypes that this library works with; tables are indexed by it. Those of float8 are bytes for
// all but the kernels that name them (`float8.h`).
enum class Dtype : uint8_t {
    kBool,
    kUint8,
    kInt8,
    kInt16,
    kInt32,
    kInt64,
    kFloat16,
    kBfloat16,
    kFloat32,
    kFloat64,
    kComplex64,
    kComplex128,
    kFloat8E4m3fn,
    kFloat8E5m2,
    kFloat8E8m0fnu,
    kUnsupported,
};

constexpr int kDtypeCount = static_cast<int>(Dtype::kUnsupported);

// A set of dtypes: one bit each.
using DtypeSet = uint32_t;

constexpr DtypeSet set_of(Dtype dtype) { return DtypeSet{1} << static_cast<int>(dtype); }

constexpr DtypeSet kBool = set_of(Dtype::kBool);
constexpr DtypeSet kUint8 = set_of(Dtype::kUint8);
constexpr DtypeSet kInt8 = set_of(Dtype::kInt8);
constexpr DtypeSet kInt16 = set_of(Dtype::kInt16);
constexpr DtypeSet kInt32 = set_of(Dtype::kInt32);
constexpr DtypeSet kInt64 = set_of(Dtype::kInt64);
constexpr DtypeSet kFloat16 = set_of(Dtype::kFloat16);
constexpr DtypeSet kBfloat16 = set_of(Dtype::kBfloat16);
constexpr DtypeSet kFloat32 = set_of(Dtype::kFloat32);
constexpr DtypeSet kFloat64 = set_of(Dtype::kFloat64);
constexpr DtypeSet kComplex64 = set_of(Dtype::kComplex64);
constexpr DtypeSet kComplex128 = set_of(Dtype::kComplex128);

// The named sets of the spec.
constexpr DtypeSet kFloating = kFloat16 | kBfloat16 | kFloat32 | kFloat64;
constexpr DtypeSet kIntegral = kUint8 | kInt8 | kInt16 | kInt32 | kInt64;
constexpr DtypeSet kNumber = kIntegral | kFloating;
constexpr DtypeSet kComplex = kComplex64 | kComplex128;
constexpr DtypeSet kIndex = kInt32 | kInt64;
constexpr DtypeSet kMask = kBool | kUint8;
constexpr DtypeSet kAny = kBool | kNumber | kComplex;

constexpr bool contains(DtypeSet set, Dtype dtype) { return dtype != Dtype::kUnsupported && (set & set_of(dtype)); }
constexpr bool is_floating(Dtype dtype) { return contains(kFloating, dtype); }
constexpr bool is_complex(Dtype dtype) { return contains(kComplex, dtype); }
constexpr bool is_integral(Dtype dtype) { return contains(kIntegral, dtype); }
constexpr bool is_half(Dtype dtype) { return contains(kFloat16 | kBfloat16, dtype); }

// bool, integral, floating, complex in rising order: a value may be cast to a dtype of no lower category.
int category(Dtype dtype);

namespace detail {

// In the order of Dtype.
inline constexpr diopiDtype_t kPublicDtypes[kDtypeCount + 1] = {
    diopi_dtype_bool,          diopi_dtype_uint8,       diopi_dtype_int8,           diopi_dtype_int16,
    diopi_dtype_int32,         diopi_dtype_int64,       diopi_dtype_float16,        diopi_dtype_bfloat16,
    diopi_dtype_float32,       diopi_dtype_float64,     diopi_dtype_complex64,      diopi_dtype_complex128,
    diopi_dtype_float8_e4m3fn, diopi_dtype_float8_e5m2, diopi_dtype_float8_e8m0fnu, diopi_dtype_unsupported,
};

constexpr std::array<int64_t, kDtypeCount + 1> dtype_sizes() {
    std::array<int64_t, kDtypeCount + 1> sizes{};
    for (int i = 0; i <= kDtypeCount; ++i) {
        sizes[i] = element_bytes(kPublicDtypes[i]);
    }
    return sizes;
}
inline constexpr std::array<int64_t, kDtypeCount + 1> kSizes = dtype_sizes();

// By the value of diopiDtype_t.
constexpr std::array<Dtype, 64> dtypes_by_public() {
    std::array<Dtype, 64> dtypes{};
    for (Dtype& dtype : dtypes) {
        dtype = Dtype::kUnsupported;
    }
    for (int i = 0; i < kDtypeCount; ++i) {
        dtypes[kPublicDtypes[i]] = static_cast<Dtype>(i);
    }
    return dtypes;
}
inline constexpr std::array<Dtype, 64> kByPublic = dtypes_by_public();

}  // namespace detail

constexpr Dtype from_public(diopiDtype_t dtype) {
    const auto value = static_cast<unsigned>(dtype);
    return value < detail::kByPublic.size() ? detail::kByPublic[value] : Dtype::kUnsupported;
}
constexpr diopiDtype_t to_public(Dtype dtype) { return detail::kPublicDtypes[static_cast<int>(dtype)]; }
const char* name_of(Dtype dtype);
constexpr int64_t size_of(Dtype dtype) { return detail::kSizes[static_cast<int>(dtype)]; }

// The dtype that kernels calculate in: float32 for the halves, else the dtype itself.
constexpr Dtype compute_of(Dtype dtype) { return is_half(dtype) ? Dtype::kFloat32 : dtype; }
// The dtype itself where it is floating or complex, else float32.
constexpr Dtype to_float(Dtype dtype) { return is_floating(dtype) || is_complex(dtype) ? dtype : Dtype::kFloat32; }
// The dtype of the real part.
constexpr Dtype to_real(Dtype dtype) {
    return dtype == Dtype::kComplex64 ? Dtype::kFloat32 : dtype == Dtype::kComplex128 ? Dtype::kFloat64 : dtype;
}
// The complex dtype whose real part has this dtype.
constexpr Dtype to_complex(Dtype dtype) {
    return dtype == Dtype::kFloat32 ? Dtype::kComplex64 : dtype == Dtype::kFloat64 ? Dtype::kComplex128 : dtype;
}

using Complex64 = numeric::complex<float>;
using Complex128 = numeric::complex<double>;

// The dtype of a C++ type.
template <typename T>
constexpr Dtype dtype_of = Dtype::kUnsupported;
template <>
inline constexpr Dtype dtype_of<Bool> = Dtype::kBool;
template <>
inline constexpr Dtype dtype_of<Uint8> = Dtype::kUint8;
template <>
inline constexpr Dtype dtype_of<Int8> = Dtype::kInt8;
template <>
inline constexpr Dtype dtype_of<Int16> = Dtype::kInt16;
template <>
inline constexpr Dtype dtype_of<Int32> = Dtype::kInt32;
template <>
inline constexpr Dtype dtype_of<Int64> = Dtype::kInt64;
template <>
inline constexpr Dtype dtype_of<Half> = Dtype::kFloat16;
template <>
inline constexpr Dtype dtype_of<Bfloat16> = Dtype::kBfloat16;
template <>
inline constexpr Dtype dtype_of<float> = Dtype::kFloat32;
template <>
inline constexpr Dtype dtype_of<double> = Dtype::kFloat64;
template <>
inline constexpr Dtype dtype_of<Complex64> = Dtype::kComplex64;
template <>
inline constexpr Dtype dtype_of<Complex128> = Dtype::kComplex128;

template <typename T>
constexpr bool is_complex_type = false;
template <typename T>
constexpr bool is_complex_type<numeric::complex<T>> = true;

template <typename T>
struct RealOf {
    using type = T;
};
template <typename T>
struct RealOf<numeric::complex<T>> {
    using type = T;
};
// The type of the real part.
template <typename T>
using Real = typename RealOf<T>::type;

// Calls `body(T{})` with the C++ type of a dtype of `set`; dtypes outside `set` are not instantiated. Returns whether
// it was called.
template <DtypeSet set, typename Body>
bool dispatch(Dtype dtype, Body&& body) {
    bool done = false;
    const auto attempt = [&](auto sample) {
        using T = decltype(sample);
        if constexpr (contains(set, dtype_of<T>)) {
            if (dtype == dtype_of<T>) {
                body(sample);
                done = true;
            }
        }
    };
    attempt(Bool{});
    attempt(Uint8{});
    attempt(Int8{});
    attempt(Int16{});
    attempt(Int32{});
    attempt(Int64{});
    attempt(Half{});
    attempt(Bfloat16{});
    attempt(float{});
    attempt(double{});
    attempt(Complex64{});
    attempt(Complex128{});
    return done;
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_DTYPE_H_
