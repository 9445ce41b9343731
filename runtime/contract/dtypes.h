// Kinds and ranges of dtypes; their table and its promotion are generated from the spec (diopigen/dtypes.h).
#ifndef DIOPIGEN_CONTRACT_DTYPES_H_
#define DIOPIGEN_CONTRACT_DTYPES_H_

#include <diopigen/dtypes.h>

#include <cstdint>

namespace diopigen::contract {

// Sets of dtypes: a bit for each.
constexpr uint32_t bit_of(diopiDtype_t dtype) {
    return static_cast<uint32_t>(dtype) < 32 ? 1U << static_cast<uint32_t>(dtype) : 0;
}
constexpr bool is_in(uint32_t dtypes, diopiDtype_t dtype) { return (dtypes & bit_of(dtype)) != 0; }
constexpr bool is_floating(diopiDtype_t dtype) { return dtype_facts(dtype).kind == DtypeKind::kFloating; }
constexpr bool is_complex(diopiDtype_t dtype) { return dtype_facts(dtype).kind == DtypeKind::kComplex; }
constexpr uint32_t floating_dtypes() {
    uint32_t dtypes = 0;
    for (int i = 0; i < kDtypeCount; ++i) {
        const DtypeFacts& facts = kDtypeFacts[i];
        dtypes |= facts.kind == DtypeKind::kFloating ? bit_of(facts.dtype) : 0;
    }
    return dtypes;
}
constexpr uint32_t kFloatingDtypes = floating_dtypes();
// 0 for bool, 1 integral, 2 floating, 3 complex.
int category(diopiDtype_t dtype);
diopiDtype_t to_float(diopiDtype_t dtype);
// As at::opmath_type: float32 for float16 and bfloat16.
diopiDtype_t to_opmath(diopiDtype_t dtype);
diopiDtype_t to_real(diopiDtype_t dtype);
diopiDtype_t to_complex(diopiDtype_t dtype);
// False for what has no range of integers.
bool range_of(diopiDtype_t dtype, int64_t& low, uint64_t& high);
// The largest finite element of a floating dtype.
double largest_of(diopiDtype_t dtype);
// The largest n for which each integer in [0, n] is an element.
int64_t exact_integers(diopiDtype_t dtype);

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_DTYPES_H_
