// Elements as they are in memory, for objects of diopigen_kernels/serving that convert them one by one.
#ifndef DIOPIGEN_KERNELS_OPERATORS_STORED_H_
#define DIOPIGEN_KERNELS_OPERATORS_STORED_H_

#include <diopi/diopirt.h>
#include <diopigen/half.h>
#include <diopigen_kernels/serving/quantized.h>

#include <cstdint>

namespace diopigen::kernels::operators {

struct StoredHalf {
    uint16_t bits;
    explicit operator float() const { return float_of_half(bits); }
};
struct StoredBfloat16 {
    uint16_t bits;
    explicit operator float() const { return float_of_bfloat16(bits); }
};

inline bool is_float8(diopiDtype_t dtype) {
    return dtype == diopi_dtype_float8_e4m3fn || dtype == diopi_dtype_float8_e5m2;
}
inline Float8 format_of(diopiDtype_t dtype) {
    return dtype == diopi_dtype_float8_e4m3fn ? Float8::e4m3fn : Float8::e5m2;
}

/// Calls `visit` with an element of a dtype that isFloat() or is_float8() holds of.
template <typename Visit>
void with_stored(diopiDtype_t dtype, Visit visit) {
    if (dtype == diopi_dtype_float16) {
        visit(StoredHalf{});
    } else if (dtype == diopi_dtype_bfloat16) {
        visit(StoredBfloat16{});
    } else if (is_float8(dtype)) {
        serving::withFloat8(format_of(dtype), visit);
    } else {
        visit(float{});
    }
}

}  // namespace diopigen::kernels::operators

#endif  // DIOPIGEN_KERNELS_OPERATORS_STORED_H_
