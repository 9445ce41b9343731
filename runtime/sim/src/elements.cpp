#include <diopigen_sim/elements.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace diopigen::sim {

namespace {

using Shape = std::vector<int64_t>;

int64_t countOf(const Shape& shape) {
    int64_t count = 1;
    for (const int64_t size : shape) {
        count *= size;
    }
    return count;
}

float halfToFloat(uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const float fraction = static_cast<float>(bits & 1023);
    const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 31) {
        return fraction == 0 ? sign * INFINITY : NAN;
    }
    return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

uint16_t floatToHalf(float value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) {
        return sign | 0x7e00;
    }
    const float size = std::fabs(value);
    if (size >= 65520) {
        return sign | 0x7c00;
    }
    // nearbyint rounds to even, as the format asks.
    const int exponent = std::max(size == 0 ? -14 : std::ilogb(size), -14);
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    return static_cast<uint16_t>(sign | (((exponent + 14) << 10) + steps));
}

template <typename T>
T read(const void* data, int64_t at) {
    return static_cast<const T*>(data)[at];
}

double read(diopiDtype_t dtype, const void* data, int64_t at) {
    switch (dtype) {
        case diopi_dtype_float32:
            return read<float>(data, at);
        case diopi_dtype_float16:
            return halfToFloat(read<uint16_t>(data, at));
        case diopi_dtype_bfloat16: {
            const uint32_t bits = static_cast<uint32_t>(read<uint16_t>(data, at)) << 16;
            float value;
            std::memcpy(&value, &bits, sizeof(value));
            return value;
        }
        case diopi_dtype_int64:
            return static_cast<double>(read<int64_t>(data, at));
        case diopi_dtype_int32:
            return read<int32_t>(data, at);
        case diopi_dtype_int16:
            return read<int16_t>(data, at);
        case diopi_dtype_int8:
            return read<int8_t>(data, at);
        case diopi_dtype_bool:
            return read<uint8_t>(data, at) != 0;
        default:
            return read<uint8_t>(data, at);
    }
}

// Whole numbers wrap, as two's complement does.
template <typename T>
void write(void* data, int64_t at, double value) {
    static_cast<T*>(data)[at] = static_cast<T>(static_cast<int64_t>(value));
}

void write(diopiDtype_t dtype, void* data, int64_t at, double value) {
    switch (dtype) {
        case diopi_dtype_float32:
            static_cast<float*>(data)[at] = static_cast<float>(value);
            return;
        case diopi_dtype_float16:
            static_cast<uint16_t*>(data)[at] = floatToHalf(static_cast<float>(value));
            return;
        case diopi_dtype_bfloat16: {
            const auto single = static_cast<float>(value);
            uint32_t bits;
            std::memcpy(&bits, &single, sizeof(bits));
            bits = std::isnan(single) ? 0x7fc00000U : bits + 0x7fff + (bits >> 16 & 1);
            static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>(bits >> 16);
            return;
        }
        case diopi_dtype_bool:
            static_cast<uint8_t*>(data)[at] = value != 0;
            return;
        case diopi_dtype_int64:
            return write<int64_t>(data, at, value);
        case diopi_dtype_int32:
            return write<int32_t>(data, at, value);
        case diopi_dtype_int16:
            return write<int16_t>(data, at, value);
        case diopi_dtype_int8:
            return write<int8_t>(data, at, value);
        default:
            return write<uint8_t>(data, at, value);
    }
}

// Calls `visit(i, offset)` for every element in row-major order.
template <typename Visit>
void walk(const Shape& shape, const Shape& stride, Visit&& visit) {
    Shape at(shape.size(), 0);
    int64_t offset = 0;
    const int64_t count = countOf(shape);
    for (int64_t i = 0; i < count; ++i) {
        visit(i, offset);
        for (size_t d = shape.size(); d-- > 0;) {
            offset += stride[d];
            if (++at[d] < shape[d]) {
                break;
            }
            offset -= shape[d] * stride[d];
            at[d] = 0;
        }
    }
}

}  // namespace

std::vector<double> load(const Kernel& kernel, std::size_t position) {
    return load(kernel, position, kernel.buffer(position).shape);
}

std::vector<double> load(const Kernel& kernel, std::size_t position, const std::vector<int64_t>& shape) {
    const Buffer& buffer = kernel.buffer(position);
    if (buffer.shape.size() > shape.size()) {
        throw std::invalid_argument("a tensor is loaded with fewer dimensions than it has");
    }
    Shape stride(shape.size(), 0);
    const std::size_t lead = shape.size() - buffer.shape.size();
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
        if (buffer.shape[d] != 1 && buffer.shape[d] != shape[lead + d]) {
            throw std::invalid_argument("a tensor is loaded with a shape that it does not broadcast to");
        }
        stride[lead + d] = buffer.shape[d] == 1 ? 0 : buffer.stride[d];
    }
    std::vector<double> values(static_cast<std::size_t>(countOf(shape)));
    const void* const data = kernel.in<char>(position);
    walk(shape, stride, [&](int64_t i, int64_t offset) { values[i] = read(buffer.dtype, data, offset); });
    return values;
}

std::vector<double> loadOr(const Kernel& kernel, std::size_t position, int64_t count, double value) {
    return kernel.buffer(position).isTensor ? load(kernel, position)
                                            : std::vector<double>(static_cast<std::size_t>(count), value);
}

namespace {

bool isWhole(diopiDtype_t dtype) {
    return dtype == diopi_dtype_int64 || dtype == diopi_dtype_int32 || dtype == diopi_dtype_int16 ||
           dtype == diopi_dtype_int8 || dtype == diopi_dtype_uint8;
}

int64_t readWhole(diopiDtype_t dtype, const void* data, int64_t at) {
    return dtype == diopi_dtype_int64 ? read<int64_t>(data, at) : static_cast<int64_t>(read(dtype, data, at));
}

void writeWhole(diopiDtype_t dtype, void* data, int64_t at, int64_t value) {
    if (dtype == diopi_dtype_int64) {
        static_cast<int64_t*>(data)[at] = value;
    } else {
        // 32 bits are exact in double.
        write(dtype, data, at, static_cast<int32_t>(static_cast<uint32_t>(value)));
    }
}

}  // namespace

void convert(const Kernel& kernel, std::size_t to, std::size_t from) {
    const Buffer& target = kernel.buffer(to);
    const Buffer& source = kernel.buffer(from);
    if (target.shape != source.shape) {
        throw std::invalid_argument("a tensor is converted to another shape");
    }
    if (!isWhole(target.dtype) || !isWhole(source.dtype)) {
        store(kernel, to, load(kernel, from));
        return;
    }
    std::vector<int64_t> values(static_cast<std::size_t>(countOf(source.shape)));
    const void* const data = kernel.in<char>(from);
    void* const written = kernel.out<char>(to);
    walk(source.shape, source.stride, [&](int64_t i, int64_t at) { values[i] = readWhole(source.dtype, data, at); });
    walk(target.shape, target.stride, [&](int64_t i, int64_t at) { writeWhole(target.dtype, written, at, values[i]); });
}

void store(const Kernel& kernel, std::size_t position, const std::vector<double>& values) {
    const Buffer& buffer = kernel.buffer(position);
    if (static_cast<int64_t>(values.size()) != countOf(buffer.shape)) {
        throw std::invalid_argument("a tensor is stored with another number of elements than it has");
    }
    void* const data = kernel.out<char>(position);
    walk(buffer.shape, buffer.stride, [&](int64_t i, int64_t offset) { write(buffer.dtype, data, offset, values[i]); });
}

void storeIfAny(const Kernel& kernel, std::size_t position, const std::vector<double>& values) {
    if (kernel.buffer(position).isTensor) {
        store(kernel, position, values);
    }
}

}  // namespace diopigen::sim
