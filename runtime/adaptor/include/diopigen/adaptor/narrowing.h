// Whether a value fits into the dtype that a rule gives it: what DIOPI_CHECK_OVERFLOW=1 asks, on the CPU.
#ifndef DIOPIGEN_ADAPTOR_NARROWING_H_
#define DIOPIGEN_ADAPTOR_NARROWING_H_

#include <diopi/diopirt.h>
#include <diopigen/dtypes.h>
#include <diopigen/half.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "geometry.h"

namespace diopigen {
namespace adaptor {
namespace {

enum class Kind { kInteger, kFloating, kComplexNumber, kOther };

// What a dtype can hold. `lowest` and `highest` of a floating dtype are the last values that do not round to infinity;
// `bytes` are those of one part of a complex number.
struct Range {
    Kind kind;
    bool is_signed;
    int bytes;
    double lowest;
    double highest;
};

inline Range range_of(diopiDtype_t dtype) {
    const DtypeFacts& facts = dtype_facts(dtype);
    const DtypeFacts& real = dtype_facts(facts.real);
    const bool is_signed = facts.kind == DtypeKind::kSigned;
    switch (facts.kind) {
        case DtypeKind::kSigned:
        case DtypeKind::kUnsigned: {
            // The upper bounds of 64 bits are no doubles: the next one below stands for them.
            const double end = std::ldexp(1.0, 8 * facts.bytes - (is_signed ? 1 : 0));
            return {Kind::kInteger, is_signed, facts.bytes, is_signed ? -end : 0.0,
                    facts.bytes == 8 ? std::nextafter(end, 0.0) : end - 1.0};
        }
        case DtypeKind::kFloating:
            return {Kind::kFloating, true, facts.bytes, -facts.limit, facts.limit};
        case DtypeKind::kComplex:
            return {Kind::kComplexNumber, true, real.bytes, -real.limit, real.limit};
        default:
            return {Kind::kOther, false, 1, 0.0, 1.0};
    }
}

// Whether a cast can lose a value altogether. Rounding is no loss, and any value converts to a bool.
inline bool can_overflow(diopiDtype_t from, diopiDtype_t to) {
    const Range source = range_of(from);
    const Range goal = range_of(to);
    if (source.kind == Kind::kOther || goal.kind == Kind::kOther) {
        return false;
    }
    if (goal.kind == Kind::kInteger && source.kind != Kind::kInteger) {
        return true;
    }
    return source.lowest < goal.lowest || source.highest > goal.highest;
}

template <class T>
T load_as(const unsigned char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
}

inline double load_floating(const unsigned char* bytes, diopiDtype_t dtype, int size) {
    if (dtype == diopi_dtype_bfloat16) {
        return static_cast<double>(float_of_bfloat16(load_as<std::uint16_t>(bytes)));
    }
    switch (size) {
        case 2:
            return static_cast<double>(float_of_half(load_as<std::uint16_t>(bytes)));
        case 4:
            return static_cast<double>(load_as<float>(bytes));
        default:
            return load_as<double>(bytes);
    }
}

inline std::uint64_t load_unsigned(const unsigned char* bytes, int size) {
    switch (size) {
        case 1:
            return *bytes;
        case 2:
            return load_as<std::uint16_t>(bytes);
        case 4:
            return load_as<std::uint32_t>(bytes);
        default:
            return load_as<std::uint64_t>(bytes);
    }
}

inline std::int64_t load_signed(const unsigned char* bytes, int size) {
    switch (size) {
        case 1:
            return load_as<std::int8_t>(bytes);
        case 2:
            return load_as<std::int16_t>(bytes);
        case 4:
            return load_as<std::int32_t>(bytes);
        default:
            return load_as<std::int64_t>(bytes);
    }
}

// Integers among themselves are compared exactly: 64 bits do not fit into a double.
inline bool integer_fits(const unsigned char* bytes, const Range& source, const Range& goal) {
    const bool negative = source.is_signed && load_signed(bytes, source.bytes) < 0;
    if (negative) {
        if (!goal.is_signed) {
            return false;
        }
        const std::int64_t value = load_signed(bytes, source.bytes);
        return goal.bytes >= 8 || value >= -(std::int64_t{1} << (8 * goal.bytes - 1));
    }
    const std::uint64_t value = load_unsigned(bytes, source.bytes);
    const int bits = 8 * goal.bytes - (goal.is_signed ? 1 : 0);
    return bits >= 64 || value < (std::uint64_t{1} << bits);
}

inline bool floating_fits(double value, const Range& goal) {
    if (goal.kind != Kind::kInteger) {
        return !std::isfinite(value) || (value >= goal.lowest && value <= goal.highest);
    }
    const double truncated = std::trunc(value);
    return truncated >= goal.lowest && truncated <= goal.highest;
}

inline bool value_fits(const unsigned char* bytes, diopiDtype_t from, diopiDtype_t to) {
    const Range source = range_of(from);
    const Range goal = range_of(to);
    if (source.kind == Kind::kInteger) {
        if (goal.kind == Kind::kInteger) {
            return integer_fits(bytes, source, goal);
        }
        const double value = source.is_signed ? static_cast<double>(load_signed(bytes, source.bytes))
                                              : static_cast<double>(load_unsigned(bytes, source.bytes));
        return floating_fits(value, goal);
    }
    if (!floating_fits(load_floating(bytes, from, source.bytes), goal)) {
        return false;
    }
    return source.kind != Kind::kComplexNumber || goal.kind != Kind::kComplexNumber ||
           floating_fits(load_floating(bytes + source.bytes, from, source.bytes), goal);
}

// Whether all elements fit. `first` is the address of the first one.
inline bool all_fit(const unsigned char* first, const diopiSize_t& size, const diopiSize_t& stride, diopiDtype_t from,
                    diopiDtype_t to) {
    const Range source = range_of(from);
    const std::int64_t bytes = source.bytes * (source.kind == Kind::kComplexNumber ? 2 : 1);
    if (is_empty(size)) {
        return true;
    }
    std::int64_t position[kMaxRank] = {};
    std::int64_t offset = 0;
    while (true) {
        if (!value_fits(first + offset * bytes, from, to)) {
            return false;
        }
        std::int64_t i = size.len - 1;
        // A dimension of stride 0 repeats what has been seen.
        for (; i >= 0; --i) {
            if (stride.data[i] != 0 && ++position[i] < size.data[i]) {
                offset += stride.data[i];
                break;
            }
            if (stride.data[i] != 0) {
                offset -= stride.data[i] * (size.data[i] - 1);
                position[i] = 0;
            }
        }
        if (i < 0) {
            return true;
        }
    }
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_NARROWING_H_
