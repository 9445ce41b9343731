// Std by one walk through memory: the mean and the squared distances from it of one block after the other, each of
// which stays in the cache, joined as Chan, Golub and LeVeque (1979) do. All is summed in double, relative to an
// element of the block, so that what counts for the error is how far elements are apart, not how far they are from
// zero.
#include <diopi/functions.h>

#include <cmath>

#include "checks.h"
#include "diopi_cpu/fold.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiStd(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiSize_t dim, const diopiScalar_t* correction) {
    return guarded("diopiStd", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating | kComplex);
        const Number correction_number = optional_scalar("correction", correction, kNumber, Number::of(1));
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_dtype(out_tensor, to_real(input_tensor.dtype));
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        const double divisor = std::max(static_cast<double>(rows.length) - correction_number.value(), 0.0);
        deviations(out_tensor, input_tensor, rows, divisor);
    });
}
