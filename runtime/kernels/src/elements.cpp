#include <diopigen/float8.h>
#include <diopigen/half.h>
#include <diopigen_kernels/describe.h>
#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/processor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace diopigen::kernels {

namespace {

// The formats of elements in memory: `get` reads one, `put` rounds to nearest even or wraps.
template <typename T>
struct Integral {
    using Stored = T;
    static T get(T stored) { return stored; }
    template <typename Value>
    static T put(Value value) {
        return static_cast<T>(static_cast<int64_t>(value));
    }
};
struct Float32 {
    using Stored = float;
    static double get(float stored) { return stored; }
    static float put(double value) { return static_cast<float>(value); }
};
struct Float64 {
    using Stored = double;
    static double get(double stored) { return stored; }
    static double put(double value) { return value; }
};
struct Float16 {
    using Stored = uint16_t;
    static double get(uint16_t stored) { return float_of_half(stored); }
    static uint16_t put(double value) { return half_of_float(static_cast<float>(value)); }
};
struct BFloat16 {
    using Stored = uint16_t;
    static double get(uint16_t stored) { return float_of_bfloat16(stored); }
    static uint16_t put(double value) { return bfloat16_of_float(static_cast<float>(value)); }
};
template <Float8 kFormat>
struct OneByte {
    using Stored = uint8_t;
    static double get(uint8_t stored) { return float_of_float8(kFormat, stored); }
    static uint8_t put(double value) { return float8_of_float(kFormat, static_cast<float>(value)); }
};
struct Bool {
    using Stored = uint8_t;
    static int get(uint8_t stored) { return stored != 0 ? 1 : 0; }
    template <typename Value>
    static uint8_t put(Value value) {
        return value != 0 ? 1 : 0;
    }
};

template <typename Visit, typename Otherwise>
void with_format(diopiDtype_t dtype, Visit&& visit, Otherwise&& otherwise) {
    switch (dtype) {
        case diopi_dtype_float32:
            return visit(Float32());
        case diopi_dtype_float64:
            return visit(Float64());
        case diopi_dtype_float16:
            return visit(Float16());
        case diopi_dtype_bfloat16:
            return visit(BFloat16());
        case diopi_dtype_float8_e4m3fn:
            return visit(OneByte<Float8::kE4m3fn>());
        case diopi_dtype_float8_e5m2:
            return visit(OneByte<Float8::kE5m2>());
        case diopi_dtype_float8_e8m0fnu:
            return visit(OneByte<Float8::kE8m0fnu>());
        case diopi_dtype_bool:
            return visit(Bool());
        case diopi_dtype_int64:
            return visit(Integral<int64_t>());
        case diopi_dtype_int32:
            return visit(Integral<int32_t>());
        case diopi_dtype_int16:
            return visit(Integral<int16_t>());
        case diopi_dtype_int8:
            return visit(Integral<int8_t>());
        case diopi_dtype_uint64:
            return visit(Integral<uint64_t>());
        case diopi_dtype_uint32:
            return visit(Integral<uint32_t>());
        case diopi_dtype_uint16:
            return visit(Integral<uint16_t>());
        case diopi_dtype_uint8:
            return visit(Integral<uint8_t>());
        default:
            return otherwise();
    }
}

template <typename Visit>
void with_format(diopiDtype_t dtype, Visit&& visit) {
    with_format(dtype, visit, [dtype] {
        throw std::invalid_argument(std::string("elements of the dtype ") + dtype_name(dtype) +
                                    " cannot be loaded or stored");
    });
}

// Sizes and strides without dimensions of one element; those that are laid out in memory as one are one.
struct Dimensions {
    Shape sizes, pitches;

    Dimensions(const Shape& shape, const Shape& stride) {
        for (size_t d = 0; d < shape.size(); ++d) {
            if (shape[d] == 1) {
                continue;
            }
            if (!sizes.empty() && pitches.back() == stride[d] * shape[d]) {
                sizes.back() *= shape[d];
                pitches.back() = stride[d];
            } else {
                sizes.push_back(shape[d]);
                pitches.push_back(stride[d]);
            }
        }
    }

    /// Whether the last two dimensions are a matrix that is transposed in memory.
    bool is_transposed() const { return sizes.size() > 1 && pitches[sizes.size() - 2] == 1 && pitches.back() != 1; }

    /// `visit(offset)` with the first element for every index of all but the last `inner` dimensions, in order.
    template <typename Visit>
    void for_outer(size_t inner, Visit&& visit) const {
        const size_t outer = sizes.size() - inner;
        int64_t count = 1, offset = 0;
        for (size_t d = 0; d < outer; ++d) {
            count *= sizes[d];
        }
        Shape at(outer, 0);
        for (int64_t i = 0; i < count; ++i) {
            visit(offset);
            for (size_t d = outer; d-- > 0;) {
                offset += pitches[d];
                if (++at[d] < sizes[d]) {
                    break;
                }
                offset -= sizes[d] * pitches[d];
                at[d] = 0;
            }
        }
    }
};

// Calls `run(first, offset, count, pitch)` for runs of elements in row-major order that lie `pitch` apart.
template <typename Run>
void for_runs(const Shape& shape, const Shape& stride, Run&& run) {
    const Dimensions all(shape, stride);
    const size_t inner = all.sizes.empty() ? 0 : 1;
    const int64_t count = inner == 0 ? 1 : all.sizes.back(), pitch = inner == 0 ? 0 : all.pitches.back();
    int64_t first = 0;
    all.for_outer(inner, [&](int64_t offset) {
        run(first, offset, count, pitch);
        first += count;
    });
}

// Calls `run(first, offset, count, pitch)` for runs of neighbours in memory, whose positions in row-major order lie
// `pitch` apart: those of matrices that are transposed in memory, in blocks, so that what a cache line has is used
// while it is near.
template <typename Run>
void for_transposed_runs(const Dimensions& all, Run&& run) {
    constexpr int64_t kBlock = 16;
    const int64_t rows = all.sizes[all.sizes.size() - 2], columns = all.sizes.back(), pitch = all.pitches.back();
    int64_t start = 0;
    all.for_outer(2, [&](int64_t offset) {
        for (int64_t row = 0; row < rows; row += kBlock) {
            const int64_t height = std::min(kBlock, rows - row);
            for (int64_t column = 0; column < columns; ++column) {
                run(start + row * columns + column, offset + row + column * pitch, height, columns);
            }
        }
        start += rows * columns;
    });
}

// to[i] = convert(from[i]) of arrays without gaps.
template <typename From, typename To, typename Convert>
void convert_array(const From* from, To* to, int64_t count, const Convert& convert) {
    withVectors([=] {
        for (int64_t i = 0; i < count; ++i) {
            to[i] = convert(from[i]);
        }
    });
}

// values[i] = get(element i), for all elements in row-major order.
template <typename Stored, typename Value, typename Get>
void gather(const Shape& shape, const Shape& stride, const Stored* data, Value* values, Get get) {
    if (isInOrder(shape, stride)) {
        convert_array(data, values, product(shape), get);
        return;
    }
    if (const Dimensions all(shape, stride); all.is_transposed()) {
        for_transposed_runs(all, [&](int64_t first, int64_t offset, int64_t count, int64_t pitch) {
            Value* const to = values + first;
            const Stored* const from = data + offset;
            for (int64_t i = 0; i < count; ++i) {
                to[i * pitch] = get(from[i]);
            }
        });
        return;
    }
    for_runs(shape, stride, [&](int64_t first, int64_t offset, int64_t count, int64_t pitch) {
        Value* const to = values + first;
        const Stored* const from = data + offset;
        if (pitch == 1) {  // a loop of its own, which can be vectorised
            convert_array(from, to, count, get);
        } else {
            for (int64_t i = 0; i < count; ++i) {
                to[i] = get(from[i * pitch]);
            }
        }
    });
}

// element i = put(values[i]).
template <typename Stored, typename Value, typename Put>
void scatter(const Shape& shape, const Shape& stride, Stored* data, const Value* values, Put put) {
    if (isInOrder(shape, stride)) {
        convert_array(values, data, product(shape), put);
        return;
    }
    if (const Dimensions all(shape, stride); all.is_transposed()) {
        for_transposed_runs(all, [&](int64_t first, int64_t offset, int64_t count, int64_t pitch) {
            const Value* const from = values + first;
            Stored* const to = data + offset;
            for (int64_t i = 0; i < count; ++i) {
                to[i] = put(from[i * pitch]);
            }
        });
        return;
    }
    for_runs(shape, stride, [&](int64_t first, int64_t offset, int64_t count, int64_t pitch) {
        const Value* const from = values + first;
        Stored* const to = data + offset;
        if (pitch == 1) {
            convert_array(from, to, count, put);
        } else {
            for (int64_t i = 0; i < count; ++i) {
                to[i * pitch] = put(from[i]);
            }
        }
    });
}

// The strides of a tensor that is seen with a shape that it broadcasts to.
Shape broadcast_stride(const Buffer& buffer, const Shape& shape) {
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
    return stride;
}

// All elements of a tensor, seen with these sizes and strides, as numbers of another type.
template <typename Value>
void read(const Kernel& kernel, std::size_t position, const Shape& shape, const Shape& stride, Value* values) {
    with_format(kernel.buffer(position).dtype, [&](auto format) {
        using Format = decltype(format);
        gather(shape, stride, kernel.in<typename Format::Stored>(position), values,
               [](auto stored) { return static_cast<Value>(Format::get(stored)); });
    });
}

template <typename Value>
void write(const Kernel& kernel, std::size_t position, const Value* values) {
    const Buffer& buffer = kernel.buffer(position);
    with_format(buffer.dtype, [&](auto format) {
        using Format = decltype(format);
        scatter(buffer.shape, buffer.stride, kernel.out<typename Format::Stored>(position), values,
                [](Value value) { return Format::put(value); });
    });
}

}  // namespace

bool isLoadable(diopiDtype_t dtype) {
    bool is = true;
    with_format(dtype, [](auto) {}, [&is] { is = false; });
    return is;
}

std::vector<double> load(const Kernel& kernel, std::size_t position) {
    return load(kernel, position, kernel.buffer(position).shape);
}

std::vector<double> load(const Kernel& kernel, std::size_t position, const Shape& shape) {
    const Shape stride = broadcast_stride(kernel.buffer(position), shape);
    std::vector<double> values(static_cast<std::size_t>(product(shape)));
    read(kernel, position, shape, stride, values.data());
    return values;
}

std::vector<double> loadOr(const Kernel& kernel, std::size_t position, int64_t count, double value) {
    return kernel.buffer(position).isTensor ? load(kernel, position)
                                            : std::vector<double>(static_cast<std::size_t>(count), value);
}

void store(const Kernel& kernel, std::size_t position, const std::vector<double>& values) {
    const Buffer& buffer = kernel.buffer(position);
    if (static_cast<int64_t>(values.size()) != product(buffer.shape)) {
        throw std::invalid_argument("a tensor is stored with another number of elements than it has");
    }
    write(kernel, position, values.data());
}

namespace {

// Whether the elements are in memory as an array of Value with this shape.
template <typename Value>
bool is_array_of(const Buffer& buffer, const Shape& shape, const Shape& stride) {
    constexpr diopiDtype_t kSame = std::is_same<Value, float>::value    ? diopi_dtype_float32
                                   : std::is_same<Value, double>::value ? diopi_dtype_float64
                                                                        : diopi_dtype_int64;
    return buffer.isTensor && buffer.dtype == kSame && isInOrder(shape, stride);
}

}  // namespace

template <typename Value>
bool isArray(const Kernel& kernel, std::size_t position, const Shape& shape) {
    const Buffer& buffer = kernel.buffer(position);
    return buffer.shape == shape && is_array_of<Value>(buffer, shape, buffer.stride);
}

template <typename Value>
Input<Value>::Input(const Kernel& kernel, std::size_t position, const Shape& shape) {
    const Buffer& buffer = kernel.buffer(position);
    if (isArray<Value>(kernel, position, shape)) {  // most often
        data_ = kernel.in<Value>(position);
        return;
    }
    const Shape stride = broadcast_stride(buffer, shape);
    if (is_array_of<Value>(buffer, shape, stride)) {
        data_ = kernel.in<Value>(position);
        return;
    }
    const auto count = static_cast<std::size_t>(product(shape));
    own_.reset(new Value[count]);  // not set to zero: that takes as long as to read it
    data_ = own_.get();
    if (buffer.isTensor) {
        read(kernel, position, shape, stride, own_.get());
    } else {
        std::fill_n(own_.get(), count, Value(0));
    }
}

template <typename Value>
Output<Value>::Output(const Kernel& kernel, std::size_t position, const Shape& shape)
    : kernel_(kernel), position_(position) {
    const Buffer& buffer = kernel.buffer(position);
    if (buffer.isTensor && buffer.shape != shape) {
        throw std::invalid_argument("a tensor is stored with another shape than it has");
    }
    if (is_array_of<Value>(buffer, buffer.shape, buffer.stride)) {
        data_ = kernel.out<Value>(position);
        return;
    }
    own_.reset(new Value[static_cast<std::size_t>(product(shape))]);
    data_ = own_.get();
}

template <typename Value>
void Output<Value>::finish() {
    if (own_ != nullptr && kernel_.buffer(position_).isTensor) {
        write(kernel_, position_, own_.get());
    }
}

namespace {

template <typename Value>
void move(const Kernel& kernel, std::size_t to, std::size_t from) {
    const Shape& shape = kernel.buffer(to).shape;
    const Input<Value> input(kernel, from, shape);
    Output<Value> output(kernel, to, shape);
    std::copy_n(input.data(), product(shape), output.data());
    output.finish();
}

}  // namespace

void convert(const Kernel& kernel, std::size_t to, std::size_t from) {
    const diopiDtype_t target = kernel.buffer(to).dtype, source = kernel.buffer(from).dtype;
    if (target == diopi_dtype_float64 || source == diopi_dtype_float64) {
        move<double>(kernel, to, from);
    } else if (isFloat(target) || isFloat(source)) {
        move<float>(kernel, to, from);
    } else {
        move<int64_t>(kernel, to, from);
    }
}

template bool isArray<double>(const Kernel& kernel, std::size_t position, const Shape& shape);
template bool isArray<float>(const Kernel& kernel, std::size_t position, const Shape& shape);
template bool isArray<int64_t>(const Kernel& kernel, std::size_t position, const Shape& shape);
template class Input<double>;
template class Input<float>;
template class Input<int64_t>;
template class Output<double>;
template class Output<float>;
template class Output<int64_t>;

void storeIfAny(const Kernel& kernel, std::size_t position, const std::vector<double>& values) {
    if (kernel.buffer(position).isTensor) {
        store(kernel, position, values);
    }
}

}  // namespace diopigen::kernels
