#include "dtypes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace diopigen::contract {

namespace {

constexpr diopiDtype_t kNone = diopi_dtype_unsupported;

// Widths, for dtypes of one kind.
int rankOf(diopiDtype_t dtype) {
    constexpr std::array<diopiDtype_t, 16> order = {
        diopi_dtype_bool,    diopi_dtype_uint8,    diopi_dtype_int8,      diopi_dtype_uint16,
        diopi_dtype_int16,   diopi_dtype_uint32,   diopi_dtype_int32,     diopi_dtype_uint64,
        diopi_dtype_int64,   diopi_dtype_bfloat16, diopi_dtype_float16,   diopi_dtype_tfloat32,
        diopi_dtype_float32, diopi_dtype_float64,  diopi_dtype_complex64, diopi_dtype_complex128,
    };
    return static_cast<int>(std::find(order.begin(), order.end(), dtype) - order.begin());
}

diopiDtype_t promoteTypes(diopiDtype_t first, diopiDtype_t second) {
    if (first == second) {
        return first;
    }
    diopiDtype_t low = first;
    diopiDtype_t high = second;
    if (category(low) > category(high)) {
        std::swap(low, high);
    }
    if (category(low) < category(high)) {
        const bool widens = category(high) == 3 && low == diopi_dtype_float64;
        return widens ? diopi_dtype_complex128 : high;
    }
    const auto is = [&](diopiDtype_t one, diopiDtype_t other) {
        return (low == one && high == other) || (low == other && high == one);
    };
    if (is(diopi_dtype_uint8, diopi_dtype_int8)) {
        return diopi_dtype_int16;
    }
    if (is(diopi_dtype_float16, diopi_dtype_bfloat16)) {
        return diopi_dtype_float32;
    }
    return rankOf(low) > rankOf(high) ? low : high;
}

// The lower class counts only where it is of a higher kind.
diopiDtype_t combine(diopiDtype_t higher, diopiDtype_t lower) {
    if (higher == kNone || lower == kNone) {
        return higher == kNone ? lower : higher;
    }
    if (category(higher) == 2 && category(lower) == 3) {
        return toComplex(higher);
    }
    if (category(higher) >= 2 || category(lower) <= category(higher)) {
        return higher;
    }
    return promoteTypes(higher, lower);
}

}  // namespace

int category(diopiDtype_t dtype) {
    if (dtype == diopi_dtype_bool) {
        return 0;
    }
    return isComplex(dtype) ? 3 : isFloating(dtype) ? 2 : 1;
}

diopiDtype_t toFloat(diopiDtype_t dtype) { return category(dtype) >= 2 ? dtype : diopi_dtype_float32; }

diopiDtype_t toOpmath(diopiDtype_t dtype) {
    switch (dtype) {
        case diopi_dtype_float16:
        case diopi_dtype_bfloat16:
            return diopi_dtype_float32;
        case diopi_dtype_complex32:
            return diopi_dtype_complex64;
        default:
            return dtype;
    }
}

diopiDtype_t toReal(diopiDtype_t dtype) {
    switch (dtype) {
        case diopi_dtype_complex32:
            return diopi_dtype_float16;
        case diopi_dtype_complex64:
            return diopi_dtype_float32;
        case diopi_dtype_complex128:
            return diopi_dtype_float64;
        default:
            return dtype;
    }
}

diopiDtype_t toComplex(diopiDtype_t dtype) {
    switch (dtype) {
        case diopi_dtype_float16:
            return diopi_dtype_complex32;
        case diopi_dtype_bfloat16:
        case diopi_dtype_float32:
            return diopi_dtype_complex64;
        case diopi_dtype_float64:
            return diopi_dtype_complex128;
        default:
            return dtype;
    }
}

bool rangeOf(diopiDtype_t dtype, int64_t& low, uint64_t& high) {
    const auto set = [&](auto sample) {
        low = static_cast<int64_t>(std::numeric_limits<decltype(sample)>::min());
        high = static_cast<uint64_t>(std::numeric_limits<decltype(sample)>::max());
        return true;
    };
    switch (dtype) {
        case diopi_dtype_bool:
            low = 0;
            high = 1;
            return true;
        case diopi_dtype_uint8:
            return set(uint8_t{});
        case diopi_dtype_int8:
            return set(int8_t{});
        case diopi_dtype_uint16:
            return set(uint16_t{});
        case diopi_dtype_int16:
            return set(int16_t{});
        case diopi_dtype_uint32:
            return set(uint32_t{});
        case diopi_dtype_int32:
            return set(int32_t{});
        case diopi_dtype_uint64:
            return set(uint64_t{});
        case diopi_dtype_int64:
            return set(int64_t{});
        default:
            return false;
    }
}

double largestOf(diopiDtype_t dtype) {
    switch (dtype) {
        case diopi_dtype_float16:
            return 65504.0;
        case diopi_dtype_bfloat16:
            return 0x1.fep127;
        case diopi_dtype_float32:
        case diopi_dtype_tfloat32:
            return 0x1.fffffep127;
        default:
            return std::numeric_limits<double>::max();
    }
}

int64_t exactIntegers(diopiDtype_t dtype) {
    int64_t low = 0;
    uint64_t high = 0;
    if (rangeOf(dtype, low, high)) {
        return static_cast<int64_t>(std::min<uint64_t>(high, std::numeric_limits<int64_t>::max()));
    }
    switch (dtype) {
        case diopi_dtype_bfloat16:
            return int64_t{1} << 8;
        case diopi_dtype_float16:
        case diopi_dtype_tfloat32:
            return int64_t{1} << 11;
        case diopi_dtype_float32:
            return int64_t{1} << 24;
        default:
            return int64_t{1} << 53;
    }
}

void Promotion::add(diopiDtype_t dtype, Class of) {
    if (of == kNumber && category(dtype) == 2) {
        dtype = diopi_dtype_float32;
    }
    classes_[of] = classes_[of] == kNone ? dtype : promoteTypes(classes_[of], dtype);
}

bool Promotion::isEmpty() const { return result() == kNone; }

diopiDtype_t Promotion::result() const { return combine(classes_[0], combine(classes_[1], classes_[2])); }

}  // namespace diopigen::contract
