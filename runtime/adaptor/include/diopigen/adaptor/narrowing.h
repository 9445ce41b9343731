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

enum class Kind { integer, floating, complexNumber, other };

// What a dtype can hold. `lowest` and `highest` of a floating dtype are the last values that do not round to infinity;
// `bytes` are those of one part of a complex number.
struct Range {
    Kind kind;
    bool isSigned;
    int bytes;
    double lowest;
    double highest;
};

inline Range rangeOf(diopiDtype_t dtype) {
    const DtypeFacts& facts = dtypeFacts(dtype);
    const DtypeFacts& real = dtypeFacts(facts.real);
    const bool isSigned = facts.kind == DtypeKind::kSigned;
    switch (facts.kind) {
        case DtypeKind::kSigned:
        case DtypeKind::kUnsigned: {
            // The upper bounds of 64 bits are no doubles: the next one below stands for them.
            const double end = std::ldexp(1.0, 8 * facts.bytes - (isSigned ? 1 : 0));
            return {Kind::integer, isSigned, facts.bytes, isSigned ? -end : 0.0,
                    facts.bytes == 8 ? std::nextafter(end, 0.0) : end - 1.0};
        }
        case DtypeKind::kFloating:
            return {Kind::floating, true, facts.bytes, -facts.limit, facts.limit};
        case DtypeKind::kComplex:
            return {Kind::complexNumber, true, real.bytes, -real.limit, real.limit};
        default:
            return {Kind::other, false, 1, 0.0, 1.0};
    }
}

// Whether a cast can lose a value altogether. Rounding is no loss, and any value converts to a bool.
inline bool canOverflow(diopiDtype_t from, diopiDtype_t to) {
    const Range source = rangeOf(from);
    const Range goal = rangeOf(to);
    if (source.kind == Kind::other || goal.kind == Kind::other) {
        return false;
    }
    if (goal.kind == Kind::integer && source.kind != Kind::integer) {
        return true;
    }
    return source.lowest < goal.lowest || source.highest > goal.highest;
}

template <class T>
T loadAs(const unsigned char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
}

inline double loadFloating(const unsigned char* bytes, diopiDtype_t dtype, int size) {
    if (dtype == diopi_dtype_bfloat16) {
        return static_cast<double>(floatOfBfloat16(loadAs<std::uint16_t>(bytes)));
    }
    switch (size) {
        case 2:
            return static_cast<double>(floatOfHalf(loadAs<std::uint16_t>(bytes)));
        case 4:
            return static_cast<double>(loadAs<float>(bytes));
        default:
            return loadAs<double>(bytes);
    }
}

inline std::uint64_t loadUnsigned(const unsigned char* bytes, int size) {
    switch (size) {
        case 1:
            return *bytes;
        case 2:
            return loadAs<std::uint16_t>(bytes);
        case 4:
            return loadAs<std::uint32_t>(bytes);
        default:
            return loadAs<std::uint64_t>(bytes);
    }
}

inline std::int64_t loadSigned(const unsigned char* bytes, int size) {
    switch (size) {
        case 1:
            return loadAs<std::int8_t>(bytes);
        case 2:
            return loadAs<std::int16_t>(bytes);
        case 4:
            return loadAs<std::int32_t>(bytes);
        default:
            return loadAs<std::int64_t>(bytes);
    }
}

// Integers among themselves are compared exactly: 64 bits do not fit into a double.
inline bool integerFits(const unsigned char* bytes, const Range& source, const Range& goal) {
    const bool negative = source.isSigned && loadSigned(bytes, source.bytes) < 0;
    if (negative) {
        if (!goal.isSigned) {
            return false;
        }
        const std::int64_t value = loadSigned(bytes, source.bytes);
        return goal.bytes >= 8 || value >= -(std::int64_t{1} << (8 * goal.bytes - 1));
    }
    const std::uint64_t value = loadUnsigned(bytes, source.bytes);
    const int bits = 8 * goal.bytes - (goal.isSigned ? 1 : 0);
    return bits >= 64 || value < (std::uint64_t{1} << bits);
}

inline bool floatingFits(double value, const Range& goal) {
    if (goal.kind != Kind::integer) {
        return !std::isfinite(value) || (value >= goal.lowest && value <= goal.highest);
    }
    const double truncated = std::trunc(value);
    return truncated >= goal.lowest && truncated <= goal.highest;
}

inline bool valueFits(const unsigned char* bytes, diopiDtype_t from, diopiDtype_t to) {
    const Range source = rangeOf(from);
    const Range goal = rangeOf(to);
    if (source.kind == Kind::integer) {
        if (goal.kind == Kind::integer) {
            return integerFits(bytes, source, goal);
        }
        const double value = source.isSigned ? static_cast<double>(loadSigned(bytes, source.bytes))
                                             : static_cast<double>(loadUnsigned(bytes, source.bytes));
        return floatingFits(value, goal);
    }
    if (!floatingFits(loadFloating(bytes, from, source.bytes), goal)) {
        return false;
    }
    return source.kind != Kind::complexNumber || goal.kind != Kind::complexNumber ||
           floatingFits(loadFloating(bytes + source.bytes, from, source.bytes), goal);
}

// Whether all elements fit. `first` is the address of the first one.
inline bool allFit(const unsigned char* first, const diopiSize_t& size, const diopiSize_t& stride, diopiDtype_t from,
                   diopiDtype_t to) {
    const Range source = rangeOf(from);
    const std::int64_t bytes = source.bytes * (source.kind == Kind::complexNumber ? 2 : 1);
    if (isEmpty(size)) {
        return true;
    }
    std::int64_t position[maxRank] = {};
    std::int64_t offset = 0;
    while (true) {
        if (!valueFits(first + offset * bytes, from, to)) {
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
