// The largest and smallest elements and where they stand: Amax, Max, Min, MaxAll, MinAll, Argmax, Argmin. NaN counts as
// more extreme than every number; of several equal elements the first counts.
#include <diopi/functions.h>

#include "checks.h"
#include "extremes.h"

using namespace diopi::cpu;

namespace {

// Writes extreme elements.
template <typename Extreme>
void search_values(const Tensor& values, const Tensor& input, const Rows& rows) {
    const FoldLayout layout(input, rows, Walk::kMemory);
    dispatch<kNumber | kBool>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        using T = Computed<S>;
        const auto found = fold_elements<S>(layout, ExtremeValue<Extreme, S>());
        store_states<T>(layout, values, found, [](T value) { return value; });
    });
}

// Writes extreme elements to `values` and their positions in the row to `places`; a null tensor drops them.
template <typename Extreme>
void search(const Tensor& values, const Tensor& places, const Tensor& input, const Rows& rows) {
    const FoldLayout layout(input, rows, Walk::kLogical);
    dispatch<kNumber | kBool>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        using T = Computed<S>;
        const auto found = fold<S>(layout, ExtremePlace<Extreme, S>());
        if (!values.is_null()) {
            store_states<T>(layout, values, found, [](const Found<T>& best) { return best.value; });
        }
        store_states<Int64>(layout, places, found, [](const Found<T>& best) { return Int64(best.at); });
    });
}

template <typename Extreme>
void along(const char* value_name, diopiTensorHandle_t values, const char* place_name, diopiTensorHandle_t places,
           diopiConstTensorHandle_t input, int64_t dim) {
    const Tensor value_tensor = tensor(value_name, values, kNumber | kBool);
    const Tensor place_tensor = tensor(place_name, places, kIndex);
    const Tensor input_tensor = tensor("input", input, kNumber | kBool);
    const Rows rows = rows_over(input_tensor, "dim", &dim);
    require_same_dtype(value_tensor, input_tensor);
    check_reduction(value_tensor, input_tensor, rows, KeepDim::kEither);
    check_reduction(place_tensor, input_tensor, rows, KeepDim::kEither);
    require_disjoint(value_tensor, place_tensor);
    require(rows.length > 0, "parameter 'input' has no elements along dimension 'dim'");
    search<Extreme>(value_tensor, place_tensor, input_tensor, rows);
}

template <typename Extreme>
void of_all(const char* name, diopiTensorHandle_t value, diopiConstTensorHandle_t input) {
    const Tensor value_tensor = tensor(name, value, kNumber | kBool);
    const Tensor input_tensor = tensor("input", input, kNumber | kBool);
    const Rows rows = rows_over(input_tensor, "input", diopiSize_t{nullptr, 0});
    require_same_dtype(value_tensor, input_tensor);
    check_reduction(value_tensor, input_tensor, rows, KeepDim::kNo);
    require(rows.length > 0, "parameter 'input' has no elements");
    search_values<Extreme>(value_tensor, input_tensor, rows);
}

template <typename Extreme>
void positions(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const int64_t* dim, bool keepdim) {
    const Tensor out_tensor = tensor("out", out, kIndex);
    const Tensor input_tensor = tensor("input", input, kNumber);
    const Rows rows = rows_over(input_tensor, "dim", dim);
    check_reduction(out_tensor, input_tensor, rows, keepdim ? KeepDim::kYes : KeepDim::kNo);
    require(rows.length > 0, "parameter 'input' has no elements along dimension 'dim'");
    search<Extreme>(Tensor(), out_tensor, input_tensor, rows);
}

}  // namespace

DIOPI_API diopiError_t diopiAmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t self,
                                 diopiSize_t dim, bool keepdim) {
    return guarded("diopiAmax", [&] {
        const Tensor out_tensor = tensor("out", out, kNumber | kBool);
        const Tensor self_tensor = tensor("self", self, kNumber | kBool);
        const Rows rows = rows_over(self_tensor, "dim", dim);
        require_same_dtype(out_tensor, self_tensor);
        check_reduction(out_tensor, self_tensor, rows, keepdim ? KeepDim::kYes : KeepDim::kNo);
        require(rows.length > 0, "parameter 'self' has no elements along a dimension of 'dim'");
        search_values<Largest>(out_tensor, self_tensor, rows);
    });
}

DIOPI_API diopiError_t diopiMax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t max, diopiTensorHandle_t max_indices,
                                diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiMax", [&] { along<Largest>("max", max, "max_indices", max_indices, input, dim); });
}

DIOPI_API diopiError_t diopiMin(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t min, diopiTensorHandle_t min_indices,
                                diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiMin", [&] { along<Smallest>("min", min, "min_indices", min_indices, input, dim); });
}

DIOPI_API diopiError_t diopiMaxAll(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t max,
                                   diopiConstTensorHandle_t input) {
    return guarded("diopiMaxAll", [&] { of_all<Largest>("max", max, input); });
}

DIOPI_API diopiError_t diopiMinAll(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t min,
                                   diopiConstTensorHandle_t input) {
    return guarded("diopiMinAll", [&] { of_all<Smallest>("min", min, input); });
}

DIOPI_API diopiError_t diopiArgmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, const int64_t* dim, bool keepdim) {
    return guarded("diopiArgmax", [&] { positions<Largest>(out, input, dim, keepdim); });
}

DIOPI_API diopiError_t diopiArgmin(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, const int64_t* dim, bool keepdim) {
    return guarded("diopiArgmin", [&] { positions<Smallest>(out, input, dim, keepdim); });
}
