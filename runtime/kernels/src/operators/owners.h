// How the operators of this folder call the objects of diopigen_kernels/serving.
#ifndef DIOPIGEN_KERNELS_OPERATORS_OWNERS_H_
#define DIOPIGEN_KERNELS_OPERATORS_OWNERS_H_

#include <diopigen_kernels/parallel.h>

#include <cstdint>

namespace diopigen::kernels::operators {

/// Calls `owner` for all numbers below `count`, each of which costs about `cost` operations.
template <typename Owner>
void each(int64_t count, int64_t cost, const Owner& owner) {
    forRanges(count, grainOf(cost), [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            owner(i);
        }
    });
}

}  // namespace diopigen::kernels::operators

#endif  // DIOPIGEN_KERNELS_OPERATORS_OWNERS_H_
