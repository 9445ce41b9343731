#include "reduce.h"

#include <diopigen/dtypes.h>
#include <diopigen/half.h>

#include <algorithm>
#include <complex>
#include <type_traits>

namespace diopigen::sim::fabric {
namespace {

constexpr std::size_t kBlock = 1024;  // accumulators that stay in the first cache

struct Half {
    uint16_t bits;
    static float load(Half value) { return float_of_half(value.bits); }
    static Half store(float value) { return {half_of_float(value)}; }
};
struct Bfloat16 {
    uint16_t bits;
    static float load(Bfloat16 value) { return float_of_bfloat16(value.bits); }
    static Bfloat16 store(float value) { return {bfloat16_of_float(value)}; }
};

template <typename Element>
struct Computed {
    using Type = Element;
    static Type load(Element value) { return value; }
    static Element store(Type value) { return value; }
};
// Signed overflow wraps.
template <typename Element>
struct Wrapping {
    using Type = std::make_unsigned_t<Element>;
    static Type load(Element value) { return static_cast<Type>(value); }
    static Element store(Type value) { return static_cast<Element>(value); }
};
template <typename Element>
struct InFloat {
    using Type = float;
    static float load(Element value) { return Element::load(value); }
    static Element store(float value) { return Element::store(value); }
};

template <typename T>
struct RealOf {
    using Type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
    using Type = T;
};

struct Sum {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(a + b);
    }
};
struct Product {
    template <typename T>
    static T apply(T a, T b) {
        if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(unsigned)) {
            return static_cast<T>(static_cast<unsigned>(a) * static_cast<unsigned>(b));  // int would overflow
        } else {
            return static_cast<T>(a * b);
        }
    }
};
struct Smallest {
    template <typename T>
    static T apply(T a, T b) {
        return a != a ? a : b < a || b != b ? b : a;
    }
};
struct Largest {
    template <typename T>
    static T apply(T a, T b) {
        return a != a ? a : b > a || b != b ? b : a;
    }
};

template <typename Element, typename Form, typename Operation>
void run(Element* out, const std::vector<const void*>& parts, std::size_t count, bool is_mean) {
    using Type = typename Form::Type;
    Type values[kBlock];
    for (std::size_t start = 0; start < count; start += kBlock) {
        const std::size_t length = std::min(kBlock, count - start);
        const auto* const first = static_cast<const Element*>(parts[0]) + start;
        for (std::size_t i = 0; i < length; ++i) {
            values[i] = Form::load(first[i]);
        }
        for (std::size_t part = 1; part < parts.size(); ++part) {
            const auto* const next = static_cast<const Element*>(parts[part]) + start;
            for (std::size_t i = 0; i < length; ++i) {
                values[i] = Operation::apply(values[i], Form::load(next[i]));
            }
        }
        for (std::size_t i = 0; i < length; ++i) {
            if constexpr (std::is_integral_v<Element>) {
                const Element whole = Form::store(values[i]);
                out[start + i] = is_mean ? static_cast<Element>(whole / static_cast<Element>(parts.size())) : whole;
            } else {
                using Real = typename RealOf<Type>::Type;
                out[start + i] = Form::store(is_mean ? values[i] / static_cast<Real>(parts.size()) : values[i]);
            }
        }
    }
}

template <typename Element, typename Form>
void ordered(diopiReduceOp_t op, void* out, const std::vector<const void*>& parts, std::size_t count) {
    auto* const target = static_cast<Element*>(out);
    using Compared = std::conditional_t<std::is_integral_v<Element>, Computed<Element>, Form>;
    switch (op) {
        case ReduceOpProd:
            return run<Element, Form, Product>(target, parts, count, false);
        case ReduceOpMin:
            return run<Element, Compared, Smallest>(target, parts, count, false);
        case ReduceOpMax:
            return run<Element, Compared, Largest>(target, parts, count, false);
        default:
            return run<Element, Form, Sum>(target, parts, count, op == ReduceOpAvg);
    }
}

template <typename Element>
void complex_numbers(diopiReduceOp_t op, void* out, const std::vector<const void*>& parts, std::size_t count) {
    auto* const target = static_cast<Element*>(out);
    if (op == ReduceOpProd) {
        return run<Element, Computed<Element>, Product>(target, parts, count, false);
    }
    run<Element, Computed<Element>, Sum>(target, parts, count, op == ReduceOpAvg);
}

}  // namespace

const char* name_of(diopiReduceOp_t op) {
    switch (op) {
        case ReduceOpSum:
            return "sum";
        case ReduceOpProd:
            return "prod";
        case ReduceOpMin:
            return "min";
        case ReduceOpMax:
            return "max";
        case ReduceOpAvg:
            return "avg";
    }
    return nullptr;
}

bool can_reduce(diopiDtype_t dtype, diopiReduceOp_t op) {
    if (element_bytes(dtype) == 0 || name_of(op) == nullptr || dtype == diopi_dtype_complex32) {
        return false;
    }
    if (dtype == diopi_dtype_complex64 || dtype == diopi_dtype_complex128) {
        return op != ReduceOpMin && op != ReduceOpMax;
    }
    return dtype != diopi_dtype_bool || op != ReduceOpAvg;
}

void reduce_parts(diopiDtype_t dtype, diopiReduceOp_t op, void* out, const std::vector<const void*>& parts,
                  std::size_t count) {
    switch (dtype) {
        case diopi_dtype_float32:
        case diopi_dtype_tfloat32:
            return ordered<float, Computed<float>>(op, out, parts, count);
        case diopi_dtype_float64:
            return ordered<double, Computed<double>>(op, out, parts, count);
        case diopi_dtype_float16:
            return ordered<Half, InFloat<Half>>(op, out, parts, count);
        case diopi_dtype_bfloat16:
            return ordered<Bfloat16, InFloat<Bfloat16>>(op, out, parts, count);
        case diopi_dtype_int8:
            return ordered<int8_t, Wrapping<int8_t>>(op, out, parts, count);
        case diopi_dtype_uint8:
            return ordered<uint8_t, Wrapping<uint8_t>>(op, out, parts, count);
        case diopi_dtype_int16:
            return ordered<int16_t, Wrapping<int16_t>>(op, out, parts, count);
        case diopi_dtype_uint16:
            return ordered<uint16_t, Wrapping<uint16_t>>(op, out, parts, count);
        case diopi_dtype_int32:
            return ordered<int32_t, Wrapping<int32_t>>(op, out, parts, count);
        case diopi_dtype_uint32:
            return ordered<uint32_t, Wrapping<uint32_t>>(op, out, parts, count);
        case diopi_dtype_int64:
            return ordered<int64_t, Wrapping<int64_t>>(op, out, parts, count);
        case diopi_dtype_uint64:
            return ordered<uint64_t, Wrapping<uint64_t>>(op, out, parts, count);
        case diopi_dtype_bool:  // 0 or 1: the largest is `or`, the smallest is `and`
            return ordered<uint8_t, Computed<uint8_t>>(
                op == ReduceOpSum || op == ReduceOpMax ? ReduceOpMax : ReduceOpMin, out, parts, count);
        case diopi_dtype_complex64:
            return complex_numbers<std::complex<float>>(op, out, parts, count);
        case diopi_dtype_complex128:
            return complex_numbers<std::complex<double>>(op, out, parts, count);
        default:
            return;
    }
}

}  // namespace diopigen::sim::fabric
