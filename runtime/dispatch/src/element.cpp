#include "element.h"

#include <diopigen/float8.h>
#include <diopigen/half.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "dtypes.h"
#include "operands.h"

namespace diopigen::dispatch {

namespace {

template <typename T>
T read(const char* address) {
    T value;
    std::memcpy(&value, address, sizeof(T));
    return value;
}

}  // namespace

void Index::advance() {
    for (size_t i = at_.size(); i-- > 0;) {
        if (++at_[i] < shape_[i]) {
            return;
        }
        at_[i] = 0;
    }
}

int64_t Index::offset(const TensorInfo& info) const {
    int64_t elements = 0;
    for (size_t i = 0; i < at_.size(); ++i) {
        elements += at_[i] * info.strides[i];
    }
    return elements * info.element_bytes;
}

double real_at(diopiDtype_t dtype, const char* element, int part) {
    switch (dtype) {
        case diopi_dtype_float16:
            return float_of_half(read<uint16_t>(element));
        case diopi_dtype_bfloat16:
            return float_of_bfloat16(read<uint16_t>(element));
        case diopi_dtype_float8_e4m3fn:
            return float_of_float8(Float8::kE4m3fn, read<uint8_t>(element));
        case diopi_dtype_float8_e5m2:
            return float_of_float8(Float8::kE5m2, read<uint8_t>(element));
        case diopi_dtype_float8_e8m0fnu:
            return float_of_float8(Float8::kE8m0fnu, read<uint8_t>(element));
        case diopi_dtype_complex32:
            return float_of_half(read<uint16_t>(element + 2 * part));
        case diopi_dtype_float32:
        case diopi_dtype_tfloat32:
        case diopi_dtype_complex64:
            return read<float>(element + 4 * part);
        default:
            return read<double>(element + 8 * part);
    }
}

int64_t integer_at(diopiDtype_t dtype, const char* element) {
    switch (dtype) {
        case diopi_dtype_int8:
            return read<int8_t>(element);
        case diopi_dtype_int16:
            return read<int16_t>(element);
        case diopi_dtype_uint16:
            return read<uint16_t>(element);
        case diopi_dtype_int32:
            return read<int32_t>(element);
        case diopi_dtype_uint32:
            return read<uint32_t>(element);
        case diopi_dtype_int64:
        case diopi_dtype_uint64:
            return read<int64_t>(element);
        default:
            return read<uint8_t>(element);
    }
}

std::string element_text(diopiDtype_t dtype, const char* element) {
    if (contract::is_complex(dtype)) {
        return "(" + text_of(real_at(dtype, element, 0)) + ", " + text_of(real_at(dtype, element, 1)) + ")";
    }
    if (contract::is_floating(dtype)) {
        return text_of(real_at(dtype, element, 0));
    }
    const int64_t value = integer_at(dtype, element);
    return dtype == diopi_dtype_uint64 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
}

}  // namespace diopigen::dispatch
