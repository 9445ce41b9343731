// Kinds and ranges of dtypes; their table and its promotion are generated from the spec (diopigen/dtypes.h).
#ifndef DIOPIGEN_CONTRACT_DTYPES_H_
#define DIOPIGEN_CONTRACT_DTYPES_H_

#include <diopigen/dtypes.h>

#include <cstdint>

namespace diopigen::contract {

// Sets of dtypes: a bit for each.
constexpr uint32_t bitOf(diopiDtype_t dtype) {
    return static_cast<uint32_t>(dtype) < 32 ? 1U << static_cast<uint32_t>(dtype) : 0;
}
constexpr bool isIn(uint32_t dtypes, diopiDtype_t dtype) { return (dtypes & bitOf(dtype)) != 0; }
constexpr bool isFloating(diopiDtype_t dtype) { return dtypeFacts(dtype).kind == DtypeKind::kFloating; }
constexpr bool isComplex(diopiDtype_t dtype) { return dtypeFacts(dtype).kind == DtypeKind::kComplex; }
constexpr uint32_t floatingDtypes() {
    uint32_t dtypes = 0;
    for (int i = 0; i < kDtypeCount; ++i) {
        const DtypeFacts& facts = kDtypeFacts[i];
        dtypes |= facts.kind == DtypeKind::kFloating ? bitOf(facts.dtype) : 0;
    }
    return dtypes;
}
constexpr uint32_t kFloatingDtypes = floatingDtypes();
// 0 for bool, 1 integral, 2 floating, 3 complex.
int category(diopiDtype_t dtype);
diopiDtype_t toFloat(diopiDtype_t dtype);
// As at::opmath_type: float32 for float16 and bfloat16.
diopiDtype_t toOpmath(diopiDtype_t dtype);
diopiDtype_t toReal(diopiDtype_t dtype);
diopiDtype_t toComplex(diopiDtype_t dtype);
// False for what has no range of integers.
bool rangeOf(diopiDtype_t dtype, int64_t& low, uint64_t& high);
// The largest finite element of a floating dtype.
double largestOf(diopiDtype_t dtype);
// The largest n for which each integer in [0, n] is an element.
int64_t exactIntegers(diopiDtype_t dtype);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_DTYPES_H_
