// Any and All: whether elements differ from zero (NaN does).
#include <diopi/functions.h>

#include "checks.h"
#include "diopi_cpu/fold.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

void search(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const int64_t* dim, bool is_any) {
    const Tensor out_tensor = tensor("out", out, kMask);
    const Tensor input_tensor = tensor("input", input, kAny);
    const Rows rows = rows_over(input_tensor, "dim", dim);
    check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
    find_truth(out_tensor, input_tensor, rows, is_any);
}

}  // namespace

DIOPI_API diopiError_t diopiAny(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                const int64_t* dim) {
    return guarded("diopiAny", ctx, [&] { search(out, input, dim, true); });
}

DIOPI_API diopiError_t diopiAll(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                const int64_t* dim) {
    return guarded("diopiAll", ctx, [&] { search(out, input, dim, false); });
}
