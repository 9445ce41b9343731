// The largest and smallest elements and where they stand: Amax, Max, Min, MaxAll, MinAll, Argmax, Argmin. NaN counts as
// more extreme than every number; of several equal elements the first counts.
#include <diopi/functions.h>

#include "checks.h"
#include "extremes.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

void along(const char* value_name, diopiTensorHandle_t values, const char* place_name, diopiTensorHandle_t places,
           diopiConstTensorHandle_t input, int64_t dim, bool is_largest) {
    const Tensor value_tensor = tensor(value_name, values, kNumber | kBool);
    const Tensor place_tensor = tensor(place_name, places, kIndex);
    const Tensor input_tensor = tensor("input", input, kNumber | kBool);
    const Rows rows = rows_over(input_tensor, "dim", &dim);
    require_same_dtype(value_tensor, input_tensor);
    check_reduction(value_tensor, input_tensor, rows, KeepDim::kEither);
    check_reduction(place_tensor, input_tensor, rows, KeepDim::kEither);
    require_disjoint(value_tensor, place_tensor);
    require(rows.length > 0, "parameter 'input' has no elements along dimension 'dim'");
    extreme_places(value_tensor, place_tensor, input_tensor, rows, is_largest);
}

void of_all(const char* name, diopiTensorHandle_t value, diopiConstTensorHandle_t input, bool is_largest) {
    const Tensor value_tensor = tensor(name, value, kNumber | kBool);
    const Tensor input_tensor = tensor("input", input, kNumber | kBool);
    const Rows rows = rows_over(input_tensor, "input", diopiSize_t{nullptr, 0});
    require_same_dtype(value_tensor, input_tensor);
    check_reduction(value_tensor, input_tensor, rows, KeepDim::kNo);
    require(rows.length > 0, "parameter 'input' has no elements");
    extreme_values(value_tensor, input_tensor, rows, is_largest);
}

void positions(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const int64_t* dim, bool keepdim,
               bool is_largest) {
    const Tensor out_tensor = tensor("out", out, kIndex);
    const Tensor input_tensor = tensor("input", input, kNumber | kBool);
    const Rows rows = rows_over(input_tensor, "dim", dim);
    check_reduction(out_tensor, input_tensor, rows, keepdim ? KeepDim::kYes : KeepDim::kNo);
    require(rows.length > 0, "parameter 'input' has no elements along dimension 'dim'");
    extreme_places(Tensor(), out_tensor, input_tensor, rows, is_largest);
}

}  // namespace

DIOPI_API diopiError_t diopiAmax(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t self,
                                 diopiSize_t dim, bool keepdim) {
    return guarded("diopiAmax", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kNumber | kBool);
        const Tensor self_tensor = tensor("self", self, kNumber | kBool);
        const Rows rows = rows_over(self_tensor, "dim", dim);
        require_same_dtype(out_tensor, self_tensor);
        check_reduction(out_tensor, self_tensor, rows, keepdim ? KeepDim::kYes : KeepDim::kNo);
        require(rows.length > 0, "parameter 'self' has no elements along a dimension of 'dim'");
        extreme_values(out_tensor, self_tensor, rows, true);
    });
}

DIOPI_API diopiError_t diopiMax(diopiContextHandle_t ctx, diopiTensorHandle_t max, diopiTensorHandle_t max_indices,
                                diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiMax", ctx, [&] { along("max", max, "max_indices", max_indices, input, dim, true); });
}

DIOPI_API diopiError_t diopiMin(diopiContextHandle_t ctx, diopiTensorHandle_t min, diopiTensorHandle_t min_indices,
                                diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiMin", ctx, [&] { along("min", min, "min_indices", min_indices, input, dim, false); });
}

DIOPI_API diopiError_t diopiMaxAll(diopiContextHandle_t ctx, diopiTensorHandle_t max, diopiConstTensorHandle_t input) {
    return guarded("diopiMaxAll", ctx, [&] { of_all("max", max, input, true); });
}

DIOPI_API diopiError_t diopiMinAll(diopiContextHandle_t ctx, diopiTensorHandle_t min, diopiConstTensorHandle_t input) {
    return guarded("diopiMinAll", ctx, [&] { of_all("min", min, input, false); });
}

DIOPI_API diopiError_t diopiArgmax(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   const int64_t* dim, bool keepdim) {
    return guarded("diopiArgmax", ctx, [&] { positions(out, input, dim, keepdim, true); });
}

DIOPI_API diopiError_t diopiArgmin(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   const int64_t* dim, bool keepdim) {
    return guarded("diopiArgmin", ctx, [&] { positions(out, input, dim, keepdim, false); });
}
