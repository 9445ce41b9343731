#include "view.h"

#include <diopigen/dtypes.h>
#include <diopigen/float8.h>
#include <diopigen/half.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace diopigen::mutant {

using diopigen::bfloat16_of_float;
using diopigen::element_bytes;
using diopigen::float_of_bfloat16;
using diopigen::float_of_half;
using diopigen::half_of_float;

namespace {

template <typename T>
T load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <typename T>
void store(char* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

// Rounded once, from double: what is then stored is a float exactly.
uint16_t toFloat16(double value) { return half_of_float(static_cast<float>(throughFloat16(value))); }
uint16_t toBfloat16(double value) { return bfloat16_of_float(static_cast<float>(throughBfloat16(value))); }

}  // namespace

bool isFloatingDtype(diopiDtype_t dtype) {
    return dtype == diopi_dtype_float16 || dtype == diopi_dtype_bfloat16 || dtype == diopi_dtype_float32 ||
           dtype == diopi_dtype_float64 || dtype == diopi_dtype_float8_e4m3fn || dtype == diopi_dtype_float8_e5m2;
}

double withMantissa(double value, int bits) {
    if (value == 0 || !std::isfinite(value)) return value;
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(fraction, bits + 1)), exponent - bits - 1);
}

double throughFloat16(double value) {
    if (std::fabs(value) < std::ldexp(1.0, -14)) return std::ldexp(std::nearbyint(std::ldexp(value, 24)), -24);
    const double rounded = withMantissa(value, 10);
    return std::fabs(rounded) > 65504 ? std::copysign(HUGE_VAL, value) : rounded;
}

double throughBfloat16(double value) {
    const double rounded = withMantissa(value, 7);
    const double largest = std::ldexp(2 - std::ldexp(1.0, -7), 127);
    return std::fabs(rounded) > largest ? std::copysign(HUGE_VAL, value) : rounded;
}

View::View(diopiConstTensorHandle_t handle) : handle_(handle) {
    diopiSize_t shape{nullptr, 0}, stride{nullptr, 0};
    const void* data = nullptr;
    if (handle == nullptr || diopiGetTensorShape(handle, &shape) != diopiSuccess ||
        diopiGetTensorStride(handle, &stride) != diopiSuccess || diopiGetTensorDtype(handle, &dtype_) != diopiSuccess ||
        diopiGetTensorDataConst(handle, &data) != diopiSuccess) {
        return;
    }
    itemsize_ = element_bytes(dtype_);
    shape_.assign(shape.data, shape.data + shape.len);
    stride_.assign(stride.data, stride.data + stride.len);
    count_ = 1;
    for (const int64_t size : shape_) count_ *= size;
    data_ = static_cast<char*>(const_cast<void*>(data));
    if (itemsize_ == 0 || (data_ == nullptr && count_ > 0)) {
        count_ = 0;
        return;
    }
    valid_ = true;
}

int64_t View::size(int64_t dim) const {
    const int64_t own = dim < 0 ? dim + rank() : dim;
    return own >= 0 && own < rank() ? shape_[own] : 1;
}

bool View::isFloating() const { return isFloatingDtype(dtype_); }

bool View::isComplex() const { return dtype_ == diopi_dtype_complex64 || dtype_ == diopi_dtype_complex128; }

bool View::isIntegral() const { return dtype_ >= diopi_dtype_int8 && dtype_ <= diopi_dtype_uint64; }

bool View::isContiguous() const {
    int64_t stride = 1;
    for (int64_t dim = rank() - 1; dim >= 0; --dim) {
        if (shape_[dim] != 1 && stride_[dim] != stride) return false;
        stride *= shape_[dim];
    }
    return true;
}

char* View::address(int64_t index) const {
    int64_t offset = 0;
    for (int64_t dim = rank() - 1; dim >= 0; --dim) {
        offset += index % shape_[dim] * stride_[dim];
        index /= shape_[dim];
    }
    return data_ + offset * itemsize_;
}

double View::real(int64_t index) const {
    const char* from = address(index);
    switch (dtype_) {
        case diopi_dtype_float16:
            return float_of_half(load<uint16_t>(from));
        case diopi_dtype_bfloat16:
            return float_of_bfloat16(load<uint16_t>(from));
        case diopi_dtype_float8_e4m3fn:
            return float_of_float8(Float8::kE4m3fn, load<uint8_t>(from));
        case diopi_dtype_float8_e5m2:
            return float_of_float8(Float8::kE5m2, load<uint8_t>(from));
        case diopi_dtype_float32:
        case diopi_dtype_complex64:
            return load<float>(from);
        case diopi_dtype_float64:
        case diopi_dtype_complex128:
            return load<double>(from);
        case diopi_dtype_uint64:
            return static_cast<double>(load<uint64_t>(from));
        default:
            return static_cast<double>(integerAt(index));
    }
}

void View::setReal(int64_t index, double value) const {
    char* to = address(index);
    switch (dtype_) {
        case diopi_dtype_float16:
            return store(to, toFloat16(value));
        case diopi_dtype_bfloat16:
            return store(to, toBfloat16(value));
        case diopi_dtype_float8_e4m3fn:
            return store(to, float8_of_float(Float8::kE4m3fn, static_cast<float>(value)));
        case diopi_dtype_float8_e5m2:
            return store(to, float8_of_float(Float8::kE5m2, static_cast<float>(value)));
        case diopi_dtype_float32:
        case diopi_dtype_complex64:
            return store(to, static_cast<float>(value));
        case diopi_dtype_float64:
        case diopi_dtype_complex128:
            return store(to, value);
        default: {
            const double limit = 9.2e18;
            return setInteger(index, value >= limit    ? std::numeric_limits<int64_t>::max()
                                     : value <= -limit ? std::numeric_limits<int64_t>::min()
                                     : value != value  ? 0
                                                       : static_cast<int64_t>(value));
        }
    }
}

int64_t View::integerAt(int64_t index) const {
    const char* from = address(index);
    switch (dtype_) {
        case diopi_dtype_int8:
            return load<int8_t>(from);
        case diopi_dtype_uint8:
        case diopi_dtype_bool:
            return load<uint8_t>(from);
        case diopi_dtype_int16:
            return load<int16_t>(from);
        case diopi_dtype_uint16:
            return load<uint16_t>(from);
        case diopi_dtype_int32:
            return load<int32_t>(from);
        case diopi_dtype_uint32:
            return load<uint32_t>(from);
        case diopi_dtype_int64:
        case diopi_dtype_uint64:
            return load<int64_t>(from);
        default:
            return static_cast<int64_t>(real(index));
    }
}

void View::setInteger(int64_t index, int64_t value) const {
    char* to = address(index);
    switch (itemsize_) {
        case 1:
            return store(to, static_cast<uint8_t>(isBool() ? value != 0 : value));
        case 2:
            return store(to, static_cast<uint16_t>(value));
        case 4:
            return store(to, static_cast<uint32_t>(value));
        default:
            return store(to, value);
    }
}

std::vector<char> View::packed() const {
    std::vector<char> elements(static_cast<size_t>(count_ * itemsize_));
    for (int64_t index = 0; index < count_; ++index) {
        std::memcpy(elements.data() + index * itemsize_, address(index), static_cast<size_t>(itemsize_));
    }
    return elements;
}

void View::unpack(const std::vector<char>& elements) const {
    for (int64_t index = 0; index < count_; ++index) {
        std::memcpy(address(index), elements.data() + index * itemsize_, static_cast<size_t>(itemsize_));
    }
}

void View::copyElement(int64_t to, const View& source, int64_t from) const {
    if (source.dtype_ == dtype_) {
        std::memmove(address(to), source.address(from), static_cast<size_t>(itemsize_));
    } else if (isFloating() || isComplex() || source.isFloating() || source.isComplex()) {
        setReal(to, source.real(from));
    } else {
        setInteger(to, source.integerAt(from));
    }
}

}  // namespace diopigen::mutant
