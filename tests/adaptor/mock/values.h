// Elements of any dtype as numbers, and tensors element by element in logical order.
#ifndef DIOPIGEN_TESTS_ADAPTOR_VALUES_H_
#define DIOPIGEN_TESTS_ADAPTOR_VALUES_H_

#include <diopi/diopirt.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace mock {

// Holds 64-bit integers without loss.
struct Number {
    long double real;
    long double imaginary;
};

template <class T>
void put(char* to, T value) {
    std::memcpy(to, &value, sizeof(value));
}

template <class T>
T get(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

inline float fromBrain(std::uint16_t bits) {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
}

inline std::uint16_t toBrain(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return static_cast<std::uint16_t>(bits >> 16);
}

// What does not fit into an integer wraps, as it does on most chips.
template <class T>
T wrapped(long double value) {
    if (!(value > -9.3e18L && value < 1.9e19L)) {
        return 0;
    }
    return value < 0 ? static_cast<T>(static_cast<std::int64_t>(value))
                     : static_cast<T>(static_cast<std::uint64_t>(value));
}

inline void store(char* to, diopiDtype_t dtype, Number n) {
    switch (dtype) {
        case diopi_dtype_int8:
            return put(to, wrapped<std::int8_t>(n.real));
        case diopi_dtype_uint8:
            return put(to, wrapped<std::uint8_t>(n.real));
        case diopi_dtype_int16:
            return put(to, wrapped<std::int16_t>(n.real));
        case diopi_dtype_uint16:
            return put(to, wrapped<std::uint16_t>(n.real));
        case diopi_dtype_int32:
            return put(to, wrapped<std::int32_t>(n.real));
        case diopi_dtype_uint32:
            return put(to, wrapped<std::uint32_t>(n.real));
        case diopi_dtype_int64:
            return put(to, wrapped<std::int64_t>(n.real));
        case diopi_dtype_uint64:
            return put(to, wrapped<std::uint64_t>(n.real));
        case diopi_dtype_float16:
            return put(to, static_cast<_Float16>(n.real));
        case diopi_dtype_float32:
        case diopi_dtype_tfloat32:
            return put(to, static_cast<float>(n.real));
        case diopi_dtype_float64:
            return put(to, static_cast<double>(n.real));
        case diopi_dtype_bool:
            return put(to, static_cast<std::uint8_t>(n.real != 0));
        case diopi_dtype_bfloat16:
            return put(to, toBrain(static_cast<float>(n.real)));
        case diopi_dtype_complex32:
            put(to, static_cast<_Float16>(n.real));
            return put(to + 2, static_cast<_Float16>(n.imaginary));
        case diopi_dtype_complex64:
            put(to, static_cast<float>(n.real));
            return put(to + 4, static_cast<float>(n.imaginary));
        case diopi_dtype_complex128:
            put(to, static_cast<double>(n.real));
            return put(to + 8, static_cast<double>(n.imaginary));
        default:
            return;
    }
}

inline Number load(const char* from, diopiDtype_t dtype) {
    switch (dtype) {
        case diopi_dtype_int8:
            return {static_cast<long double>(get<std::int8_t>(from)), 0};
        case diopi_dtype_uint8:
            return {static_cast<long double>(get<std::uint8_t>(from)), 0};
        case diopi_dtype_int16:
            return {static_cast<long double>(get<std::int16_t>(from)), 0};
        case diopi_dtype_uint16:
            return {static_cast<long double>(get<std::uint16_t>(from)), 0};
        case diopi_dtype_int32:
            return {static_cast<long double>(get<std::int32_t>(from)), 0};
        case diopi_dtype_uint32:
            return {static_cast<long double>(get<std::uint32_t>(from)), 0};
        case diopi_dtype_int64:
            return {static_cast<long double>(get<std::int64_t>(from)), 0};
        case diopi_dtype_uint64:
            return {static_cast<long double>(get<std::uint64_t>(from)), 0};
        case diopi_dtype_float16:
            return {static_cast<long double>(get<_Float16>(from)), 0};
        case diopi_dtype_float32:
        case diopi_dtype_tfloat32:
            return {static_cast<long double>(get<float>(from)), 0};
        case diopi_dtype_float64:
            return {static_cast<long double>(get<double>(from)), 0};
        case diopi_dtype_bool:
            return {get<std::uint8_t>(from) != 0 ? 1.0L : 0.0L, 0};
        case diopi_dtype_bfloat16:
            return {static_cast<long double>(fromBrain(get<std::uint16_t>(from))), 0};
        case diopi_dtype_complex32:
            return {static_cast<long double>(get<_Float16>(from)), static_cast<long double>(get<_Float16>(from + 2))};
        case diopi_dtype_complex64:
            return {static_cast<long double>(get<float>(from)), static_cast<long double>(get<float>(from + 4))};
        case diopi_dtype_complex128:
            return {static_cast<long double>(get<double>(from)), static_cast<long double>(get<double>(from + 8))};
        default:
            return {0, 0};
    }
}

// A tensor, described.
struct Layout {
    diopiDtype_t dtype;
    diopiSize_t size;
    diopiSize_t stride;
    std::int64_t itemsize;
    char* data;
};

inline Layout describe(diopiConstTensorHandle_t tensor) {
    Layout layout = {};
    const void* data = nullptr;
    diopiGetTensorDtype(tensor, &layout.dtype);
    diopiGetTensorShape(tensor, &layout.size);
    diopiGetTensorStride(tensor, &layout.stride);
    diopiGetTensorElemSize(tensor, &layout.itemsize);
    diopiGetTensorDataConst(tensor, &data);
    layout.data = static_cast<char*>(const_cast<void*>(data));
    return layout;
}

inline std::int64_t count(const Layout& layout) {
    std::int64_t elements = 1;
    for (std::int64_t i = 0; i < layout.size.len; ++i) {
        elements *= layout.size.data[i];
    }
    return elements;
}

// The address of an element by its position in row-major order.
inline char* at(const Layout& layout, std::int64_t position) {
    std::int64_t offset = 0;
    for (std::int64_t i = layout.size.len; i-- > 0;) {
        offset += position % layout.size.data[i] * layout.stride.data[i];
        position /= layout.size.data[i];
    }
    return layout.data + offset * layout.itemsize;
}

inline std::vector<Number> values(const Layout& layout) {
    std::vector<Number> found;
    for (std::int64_t i = 0; i < count(layout); ++i) {
        found.push_back(load(at(layout, i), layout.dtype));
    }
    return found;
}

}  // namespace mock

#endif  // DIOPIGEN_TESTS_ADAPTOR_VALUES_H_
