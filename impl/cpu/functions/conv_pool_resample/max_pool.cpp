// MaxPool1d, MaxPool2d, MaxPool3d, with and without indices.
#include <diopi/functions.h>

#include "diopi_cpu/dense.h"
#include "pooling.h"

using namespace diopi::cpu;

namespace {

void pool(int space, diopiTensorHandle_t out, const Tensor& indices, diopiConstTensorHandle_t input,
          diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    const Tensor out_tensor = tensor("out", out, kNumber);
    const Tensor input_tensor = tensor("input", input, kNumber);
    require_planes(input_tensor, space + 2);
    const Window window = pool_window(space, "kernel_size", kernel_size, stride, padding, &dilation);
    const Pooling pooling = sliding_pool(input_tensor, space, window, ceil_mode);
    require_pooled(out_tensor, input_tensor, space, pooling);
    require_same_shape(indices, out_tensor);
    require_operands(out_tensor, {&input_tensor, &indices});
    require_operands(indices, {&input_tensor});
    max_pool(out_tensor, indices, input_tensor, pooling);
}

// Where `indices` is null, the maxima are looked for again.
void pool_backward(diopiContextHandle_t ctx, int space, diopiTensorHandle_t grad_input,
                   diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input, diopiSize_t kernel_size,
                   diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool ceil_mode,
                   diopiConstTensorHandle_t indices) {
    const Tensor gradient = tensor("grad_input", grad_input, kFloating);
    const Tensor arriving = tensor("grad_output", grad_output, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    Tensor positions = optional_tensor("indices", indices, kIndex);
    require_planes(input_tensor, space + 2);
    const Window window = pool_window(space, "kernel_size", kernel_size, stride, padding, &dilation);
    const Pooling pooling = sliding_pool(input_tensor, space, window, ceil_mode);
    require_pooled(arriving, input_tensor, space, pooling);
    require_same_shape(positions, arriving);
    require_same_dtype(gradient, input_tensor);
    require_same_shape(gradient, input_tensor);
    require_operands(gradient, {&arriving, &input_tensor, &positions});
    if (positions.is_null()) {
        positions = new_tensor(ctx, "indices", shape_of(arriving), Dtype::kInt64, input_tensor);
        const Tensor maxima = new_tensor(ctx, "maxima", shape_of(arriving), input_tensor.dtype, input_tensor);
        max_pool(maxima, positions, input_tensor, pooling);
    }
    max_pool_backward(gradient, arriving, positions, pooling,
                      "C5: every index is -1 or a position in its plane of input");
}

}  // namespace

DIOPI_API diopiError_t diopiMaxPool1d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                      diopiSize_t dilation, bool ceil_mode) {
    return guarded("diopiMaxPool1d", ctx,
                   [&] { pool(1, out, Tensor(), input, kernel_size, stride, padding, dilation, ceil_mode); });
}

DIOPI_API diopiError_t diopiMaxPool1dWithIndices(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                 diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                                                 diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                                 diopiSize_t dilation, bool ceil_mode) {
    return guarded("diopiMaxPool1dWithIndices", ctx, [&] {
        pool(1, out, tensor("indices", indices, kIndex), input, kernel_size, stride, padding, dilation, ceil_mode);
    });
}

DIOPI_API diopiError_t diopiMaxPool1dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                              diopiSize_t dilation, bool ceil_mode, diopiConstTensorHandle_t indices) {
    return guarded("diopiMaxPool1dBackward", ctx, [&] {
        pool_backward(ctx, 1, grad_input, grad_output, input, kernel_size, stride, padding, dilation, ceil_mode,
                      indices);
    });
}

DIOPI_API diopiError_t diopiMaxPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                      diopiSize_t dilation, bool ceil_mode) {
    return guarded("diopiMaxPool2d", ctx,
                   [&] { pool(2, out, Tensor(), input, kernel_size, stride, padding, dilation, ceil_mode); });
}

DIOPI_API diopiError_t diopiMaxPool2dWithIndices(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                 diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                                                 diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                                 diopiSize_t dilation, bool ceil_mode) {
    return guarded("diopiMaxPool2dWithIndices", ctx, [&] {
        pool(2, out, tensor("indices", indices, kIndex), input, kernel_size, stride, padding, dilation, ceil_mode);
    });
}

DIOPI_API diopiError_t diopiMaxPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                              diopiSize_t dilation, bool ceil_mode, diopiConstTensorHandle_t indices) {
    return guarded("diopiMaxPool2dBackward", ctx, [&] {
        pool_backward(ctx, 2, grad_input, grad_output, input, kernel_size, stride, padding, dilation, ceil_mode,
                      indices);
    });
}

DIOPI_API diopiError_t diopiMaxPool3d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                      diopiSize_t dilation, bool ceil_mode) {
    return guarded("diopiMaxPool3d", ctx,
                   [&] { pool(3, out, Tensor(), input, kernel_size, stride, padding, dilation, ceil_mode); });
}

DIOPI_API diopiError_t diopiMaxPool3dWithIndices(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                 diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                                                 diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                                 diopiSize_t dilation, bool ceil_mode) {
    return guarded("diopiMaxPool3dWithIndices", ctx, [&] {
        pool(3, out, tensor("indices", indices, kIndex), input, kernel_size, stride, padding, dilation, ceil_mode);
    });
}

DIOPI_API diopiError_t diopiMaxPool3dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                              diopiSize_t dilation, bool ceil_mode, diopiConstTensorHandle_t indices) {
    return guarded("diopiMaxPool3dBackward", ctx, [&] {
        pool_backward(ctx, 3, grad_input, grad_output, input, kernel_size, stride, padding, dilation, ceil_mode,
                      indices);
    });
}
