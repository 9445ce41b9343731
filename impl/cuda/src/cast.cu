// Casts between the dtypes that are often converted, by vectors.
#include "copies.h"
#include "diopi_core/dtype.h"

namespace diopigen::cuda {

namespace {

constexpr DtypeSet kOften = kBool | kUint8 | kInt32 | kInt64 | kFloat16 | kBfloat16 | kFloat32 | kFloat64;

template <typename From>
void cast_from(const CopyJob& job) {
    dispatch<kOften>(job.to().dtype, [&](auto sample) { copy_vectors<decltype(sample), From>(job); });
}

}  // namespace

bool cast_vectors(const CopyJob& job) {
    if (!contains(kOften, job.to().dtype) || !job.is_short()) {
        return false;
    }
    return dispatch<kOften>(job.from().dtype, [&](auto sample) { cast_from<decltype(sample)>(job); });
}

}  // namespace diopigen::cuda
