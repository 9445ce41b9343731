#include "diopi_core/dtype.h"

#include <diopigen/dtypes.h>

namespace diopigen::core {

namespace {

// In the order of Dtype.
constexpr diopiDtype_t kDtypeTable[kDtypeCount] = {
    diopi_dtype_bool,          diopi_dtype_uint8,       diopi_dtype_int8,           diopi_dtype_int16,
    diopi_dtype_int32,         diopi_dtype_int64,       diopi_dtype_float16,        diopi_dtype_bfloat16,
    diopi_dtype_float32,       diopi_dtype_float64,     diopi_dtype_complex64,      diopi_dtype_complex128,
    diopi_dtype_float8_e4m3fn, diopi_dtype_float8_e5m2, diopi_dtype_float8_e8m0fnu,
};

}  // namespace

int category(Dtype dtype) { return diopigen::dtype_category(to_public(dtype)); }
diopiDtype_t to_public(Dtype dtype) {
    return dtype == Dtype::kUnsupported ? diopi_dtype_unsupported : kDtypeTable[static_cast<int>(dtype)];
}
const char* name_of(Dtype dtype) {
    return dtype == Dtype::kUnsupported ? "an unsupported dtype" : diopigen::dtype_name(to_public(dtype));
}
int64_t size_of(Dtype dtype) { return diopigen::element_bytes(to_public(dtype)); }

Dtype from_public(diopiDtype_t dtype) {
    for (int i = 0; i < kDtypeCount; ++i) {
        if (kDtypeTable[i] == dtype) {
            return static_cast<Dtype>(i);
        }
    }
    return Dtype::kUnsupported;
}

Dtype promote(Dtype left, Dtype right) {
    return from_public(diopigen::promoted_dtype(to_public(left), to_public(right)));
}

}  // namespace diopigen::core
