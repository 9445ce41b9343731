// Elements as unsigned numbers in the same order.
#ifndef DIOPI_CUDA_SORTING_KEY_RANGE_H_
#define DIOPI_CUDA_SORTING_KEY_RANGE_H_

#include <cstdint>

#include "diopi_core/dense.h"
#include "diopi_cuda/group.h"
#include "sorting/order_keys.h"

namespace diopigen::cuda {

using namespace diopigen::core;  // NOLINT

// The keys of a dtype's elements: as many bits as the elements have, 32 for the halves, which are floats on the way.
struct KeyRange {
    int64_t least = 0;  // of the integers of the dtype
    int bits;

    explicit KeyRange(Dtype dtype) : bits(static_cast<int>(8 * size_of(compute_of(dtype)))) {
        if (!is_floating(dtype) && dtype != Dtype::kUint8 && dtype != Dtype::kBool) {
            least = INT64_MIN >> (64 - bits);
        }
    }
    uint64_t largest() const { return ~uint64_t{0} >> (64 - bits); }

    // For float, double and, in place of every integer and bool, Int64.
    template <typename T>
    DIOPI_DEVICE uint64_t key_of(T value) const {
        if constexpr (std::is_same_v<T, Int64>) {
            return static_cast<uint64_t>(value.value) - static_cast<uint64_t>(least);
        } else {
            return order_key(value);
        }
    }
};

// Calls `body(T{})` with the type that elements of a real dtype are sorted as.
template <typename Body>
void dispatch_keyed(Dtype dtype, Body&& body) {
    const Dtype computed = compute_of(dtype);
    if (computed == Dtype::kFloat32) {
        body(float{});
    } else if (computed == Dtype::kFloat64) {
        body(double{});
    } else {
        body(Int64{});
    }
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_SORTING_KEY_RANGE_H_
