// Kinds and promotion of dtypes, as PyTorch has them.
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
constexpr uint32_t kFloatingDtypes = bitOf(diopi_dtype_float16) | bitOf(diopi_dtype_bfloat16) |
                                     bitOf(diopi_dtype_float32) | bitOf(diopi_dtype_tfloat32) |
                                     bitOf(diopi_dtype_float64);
constexpr uint32_t kComplexDtypes =
    bitOf(diopi_dtype_complex32) | bitOf(diopi_dtype_complex64) | bitOf(diopi_dtype_complex128);
constexpr bool isFloating(diopiDtype_t dtype) { return isIn(kFloatingDtypes, dtype); }
constexpr bool isComplex(diopiDtype_t dtype) { return isIn(kComplexDtypes, dtype); }
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

// Collects operands in three classes of priority: tensors with dimensions, 0-d tensors, numbers.
class Promotion {
  public:
    enum Class { kDimensioned, kZeroDimensional, kNumber };
    void add(diopiDtype_t dtype, Class of);
    bool isEmpty() const;
    diopiDtype_t result() const;

  private:
    diopiDtype_t classes_[3] = {diopi_dtype_unsupported, diopi_dtype_unsupported, diopi_dtype_unsupported};
};

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_DTYPES_H_
