// The largest and smallest elements and where they stand: Amax, Max, Min, MaxAll, MinAll, Argmax, Argmin. NaN counts as
// more extreme than every number; of several equal elements the first counts. The loops.
#include "extremes.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// Writes extreme elements.
template <typename Extreme>
void search_values(const Tensor& values, const Tensor& input, const Rows& rows) {
    const ReductionLayout layout(input, rows, Walk::kMemory);
    dispatch<kNumber | kBool>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        using T = Computed<S>;
        const auto found = reduce_elements<S>(layout, ExtremeValue<Extreme, S>());
        store_states<T>(layout, values, found, [](T value) { return value; });
    });
}

// Writes extreme elements to `values` and their positions in the row to `indices`; a null tensor drops them.
template <typename Extreme>
void search(const Tensor& values, const Tensor& indices, const Tensor& input, const Rows& rows) {
    const ReductionLayout layout(input, rows, Walk::kLogical);
    dispatch<kNumber | kBool>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        using T = Computed<S>;
        const auto found = reduce<S>(layout, ExtremeIndex<Extreme, S>());
        if (!values.is_null()) {
            store_states<T>(layout, values, found, [](const Found<T>& best) { return best.value; });
        }
        store_states<Int64>(layout, indices, found, [](const Found<T>& best) { return Int64(best.at); });
    });
}

}  // namespace

void extreme_values(const Tensor& values, const Tensor& input, const Rows& rows, bool is_largest) {
    is_largest ? search_values<Largest>(values, input, rows) : search_values<Smallest>(values, input, rows);
}

void extreme_indices(const Tensor& values, const Tensor& indices, const Tensor& input, const Rows& rows,
                     bool is_largest) {
    is_largest ? search<Largest>(values, indices, input, rows) : search<Smallest>(values, indices, input, rows);
}

}  // namespace diopigen::core
