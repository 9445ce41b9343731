// Softmax and LogSoftmax with their gradients. The maximum is subtracted before exponentials are taken; sums are kept
// in double. Along the last dimension whole rows are taken, along others strips of columns.
#include <diopi/functions.h>

#include "kernels.h"

using namespace diopi::cpu;

namespace {

// The dtypes agree, but for float32 beside halves.
void require_dtypes(const Tensor& out, const Tensor& first, const Tensor& second) {
    const auto is_half = [](const Tensor& tensor) {
        return tensor.dtype == Dtype::kFloat16 || tensor.dtype == Dtype::kBfloat16;
    };
    require_same_dtype(second, first);
    const bool is_mixed =
        (is_half(out) && first.dtype == Dtype::kFloat32) || (out.dtype == Dtype::kFloat32 && is_half(first));
    if (!is_mixed) {
        require_same_dtype(out, first);
    }
}

void along(SoftmaxKind kind, const Tensor& out, const Tensor& first, const Tensor& second, int64_t dim) {
    require_dtypes(out, first, second);
    for (const Tensor* source : {&first, &second}) {
        require_same_shape(*source, out);
        require_one_device({&out, source});
        require_no_overlap(out, *source);
    }
    require_no_overlap(out);
    const Around place = around(shape_at_least_1d(out), dimension("dim", dim, out.rank));
    softmax(kind, out, first, second, place);
}

}  // namespace

DIOPI_API diopiError_t diopiSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    int64_t dim) {
    return guarded("diopiSoftmax", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        along(SoftmaxKind::kSoftmax, out_tensor, input_tensor, input_tensor, dim);
    });
}

DIOPI_API diopiError_t diopiLogSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                       diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiLogSoftmax", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        along(SoftmaxKind::kLogSoftmax, out_tensor, input_tensor, input_tensor, dim);
    });
}

DIOPI_API diopiError_t diopiSoftmaxBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                            int64_t dim) {
    return guarded("diopiSoftmaxBackward", ctx, [&] {
        const Tensor result_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor grad_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor output_tensor = tensor("output", output, kFloating);
        along(SoftmaxKind::kSoftmaxGradient, result_tensor, grad_tensor, output_tensor, dim);
    });
}

DIOPI_API diopiError_t diopiLogSoftmaxBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                               int64_t dim) {
    return guarded("diopiLogSoftmaxBackward", ctx, [&] {
        const Tensor result_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor grad_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor output_tensor = tensor("output", output, kFloating);
        along(SoftmaxKind::kLogSoftmaxGradient, result_tensor, grad_tensor, output_tensor, dim);
    });
}
