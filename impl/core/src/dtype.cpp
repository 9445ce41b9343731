#include "diopi_core/dtype.h"

namespace diopi::core {

namespace {

struct Row {
    diopiDtype_t value;
    const char* name;
    int64_t size;
    int category;
    int rank;  // within its category: which of two signed or floating dtypes holds the other
};

// In the order of Dtype. uint8 and the halves are apart: see `promote`.
constexpr Row kDtypeTable[kDtypeCount] = {
    {diopi_dtype_bool, "bool", 1, 0, 0},           {diopi_dtype_uint8, "uint8", 1, 1, 0},
    {diopi_dtype_int8, "int8", 1, 1, 0},           {diopi_dtype_int16, "int16", 2, 1, 1},
    {diopi_dtype_int32, "int32", 4, 1, 2},         {diopi_dtype_int64, "int64", 8, 1, 3},
    {diopi_dtype_float16, "float16", 2, 2, 0},     {diopi_dtype_bfloat16, "bfloat16", 2, 2, 0},
    {diopi_dtype_float32, "float32", 4, 2, 1},     {diopi_dtype_float64, "float64", 8, 2, 2},
    {diopi_dtype_complex64, "complex64", 8, 3, 1}, {diopi_dtype_complex128, "complex128", 16, 3, 2},
};

const Row& row(Dtype dtype) { return kDtypeTable[static_cast<int>(dtype)]; }

}  // namespace

int category(Dtype dtype) { return row(dtype).category; }
diopiDtype_t to_public(Dtype dtype) {
    return dtype == Dtype::kUnsupported ? diopi_dtype_unsupported : row(dtype).value;
}
const char* name_of(Dtype dtype) { return dtype == Dtype::kUnsupported ? "an unsupported dtype" : row(dtype).name; }
int64_t size_of(Dtype dtype) { return row(dtype).size; }

Dtype from_public(diopiDtype_t dtype) {
    for (int i = 0; i < kDtypeCount; ++i) {
        if (kDtypeTable[i].value == dtype) {
            return static_cast<Dtype>(i);
        }
    }
    return Dtype::kUnsupported;
}

Dtype promote(Dtype left, Dtype right) {
    if (left == right) {
        return left;
    }
    const Row& a = row(left);
    const Row& b = row(right);
    if (a.category < b.category) {
        return promote(right, left);
    }
    if (a.category != b.category) {
        // A float64 takes part in a complex number at its own width.
        return left == Dtype::kComplex64 && right == Dtype::kFloat64 ? Dtype::kComplex128 : left;
    }
    if (a.rank == b.rank) {
        return a.category == 1 ? Dtype::kInt16 : Dtype::kFloat32;  // uint8 with int8; the two halves
    }
    return a.rank > b.rank ? left : right;
}

}  // namespace diopi::core
