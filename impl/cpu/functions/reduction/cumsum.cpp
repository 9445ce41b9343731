// Cumsum and its gradient, which runs from the end. Sums are kept in double, complex<double> or int64 (which wraps).
#include <diopi/functions.h>

#include "diopi_cpu/clones.h"
#include "diopi_cpu/words.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

void running_sums(const Tensor& out, const Tensor& input, const char* name, int64_t dim, bool is_forward) {
    const int64_t at = dimension(name, dim, input.rank);
    require_same_shape(out, input);
    require_one_device({&out, &input});
    require_no_overlap(out);
    require_no_overlap(out, input);
    const Around place = around(shape_at_least_1d(input), at);
    running_sums(out, input, place, is_forward);
}

}  // namespace

DIOPI_API diopiError_t diopiCumsum(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   int64_t dim) {
    return guarded("diopiCumsum", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Dtype dtype = input_tensor.dtype;
        require_castable(out_tensor, is_floating(dtype) || is_complex(dtype) ? dtype : Dtype::kInt64);
        running_sums(out_tensor, input_tensor, "dim", dim, true);
    });
}

DIOPI_API diopiError_t diopiCumsumBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, int64_t dim) {
    return guarded("diopiCumsumBackward", ctx, [&] {
        const Tensor grad_input_tensor = tensor("grad_input", grad_input, kFloating | kComplex);
        const Tensor grad_output_tensor = tensor("grad_output", grad_output, kFloating | kComplex);
        require_same_dtype(grad_input_tensor, grad_output_tensor);
        running_sums(grad_input_tensor, grad_output_tensor, "dim", dim, false);
    });
}
