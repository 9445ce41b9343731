// Sum, Mean, Prod. Accumulated in double, complex<double> or int64 (which wraps).
#include <diopi/functions.h>

#include "checks.h"
#include "diopi_cpu/fold.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

Dtype accumulated(Dtype dtype) { return is_floating(dtype) || is_complex(dtype) ? dtype : Dtype::kInt64; }

}  // namespace

DIOPI_API diopiError_t diopiSum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiSize_t dim) {
    return guarded("diopiSum", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_castable(out_tensor, accumulated(input_tensor.dtype));
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        fold_sum(out_tensor, input_tensor, rows);
    });
}

DIOPI_API diopiError_t diopiMean(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiSize_t dim) {
    return guarded("diopiMean", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating | kComplex);
        const Tensor input_tensor = tensor("input", input, kFloating | kComplex);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_same_dtype(out_tensor, input_tensor);
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        fold_mean(out_tensor, input_tensor, rows);
    });
}

DIOPI_API diopiError_t diopiProd(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 const int64_t* dim) {
    return guarded("diopiProd", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_castable(out_tensor, accumulated(input_tensor.dtype));
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        fold_product(out_tensor, input_tensor, rows);
    });
}
