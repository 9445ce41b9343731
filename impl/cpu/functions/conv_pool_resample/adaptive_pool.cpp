// AdaptiveAvgPool and AdaptiveMaxPool of one to three dimensions, forward and backward.
#include <diopi/functions.h>

#include "pooling.h"

using namespace diopi::cpu;

namespace {

Pooling pooling_of(const Tensor& out, const Tensor& input, int space, diopiSize_t output_size) {
    require_planes(input, space + 2);
    const Pooling pooling = adaptive_pool(input, space, entries("C2", "output_size", output_size, space, 0, 1));
    require_pooled(out, input, space, pooling);
    require_operands(out, {&input});
    return pooling;
}

void average(int space, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t output_size) {
    const Tensor out_tensor = tensor("out", out, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Pooling pooling = pooling_of(out_tensor, input_tensor, space, output_size);
    avg_pool(out_tensor, input_tensor, pooling, Divisor());
}

void maximum_of(int space, diopiTensorHandle_t out, const Tensor& indices, diopiConstTensorHandle_t input,
                diopiSize_t output_size) {
    const Tensor out_tensor = tensor("out", out, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Pooling pooling = pooling_of(out_tensor, input_tensor, space, output_size);
    require_same_shape(indices, out_tensor);
    require_operands(indices, {&input_tensor, &out_tensor});
    max_pool(out_tensor, indices, input_tensor, pooling);
}

Pooling pooling_of_gradient(const Tensor& gradient, const Tensor& arriving, const Tensor& input, int space) {
    require_planes(input, space + 2);
    require_rank(arriving, input.rank, input.rank);
    const Pooling pooling = adaptive_pool(input, space, space_of(arriving, space));
    require_pooled(arriving, input, space, pooling);
    require_same_dtype(gradient, input);
    require_same_shape(gradient, input);
    require_operands(gradient, {&arriving, &input});
    return pooling;
}

void average_backward(int space, diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                      diopiConstTensorHandle_t input) {
    const Tensor gradient = tensor("grad_input", grad_input, kFloating);
    const Tensor arriving = tensor("grad_output", grad_output, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Pooling pooling = pooling_of_gradient(gradient, arriving, input_tensor, space);
    avg_pool_backward(gradient, arriving, pooling, Divisor());
}

void maximum_backward(int space, diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                      diopiConstTensorHandle_t input, diopiConstTensorHandle_t indices) {
    const Tensor gradient = tensor("grad_input", grad_input, kFloating);
    const Tensor arriving = tensor("grad_output", grad_output, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Tensor positions = tensor("indices", indices, kInt64);
    const Pooling pooling = pooling_of_gradient(gradient, arriving, input_tensor, space);
    require_same_shape(positions, arriving);
    require_operands(gradient, {&positions});
    max_pool_backward(gradient, arriving, positions, pooling,
                      "C2: every index is -1 or a position in its plane of input");
}

}  // namespace

DIOPI_API diopiError_t diopiAdaptiveAvgPool1d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return guarded("diopiAdaptiveAvgPool1d", ctx, [&] { average(1, out, input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveAvgPool1dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                      diopiConstTensorHandle_t grad_output,
                                                      diopiConstTensorHandle_t input) {
    return guarded("diopiAdaptiveAvgPool1dBackward", ctx, [&] { average_backward(1, grad_input, grad_output, input); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool1d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return guarded("diopiAdaptiveMaxPool1d", ctx, [&] { maximum_of(1, out, Tensor(), input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool1dWithIndices(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                         diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                                                         diopiSize_t output_size) {
    return guarded("diopiAdaptiveMaxPool1dWithIndices", ctx,
                   [&] { maximum_of(1, out, tensor("indices", indices, kInt64), input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool1dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                      diopiConstTensorHandle_t grad_output,
                                                      diopiConstTensorHandle_t input,
                                                      diopiConstTensorHandle_t indices) {
    return guarded("diopiAdaptiveMaxPool1dBackward", ctx,
                   [&] { maximum_backward(1, grad_input, grad_output, input, indices); });
}

DIOPI_API diopiError_t diopiAdaptiveAvgPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return guarded("diopiAdaptiveAvgPool2d", ctx, [&] { average(2, out, input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveAvgPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                      diopiConstTensorHandle_t grad_output,
                                                      diopiConstTensorHandle_t input) {
    return guarded("diopiAdaptiveAvgPool2dBackward", ctx, [&] { average_backward(2, grad_input, grad_output, input); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return guarded("diopiAdaptiveMaxPool2d", ctx, [&] { maximum_of(2, out, Tensor(), input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool2dWithIndices(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                         diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                                                         diopiSize_t output_size) {
    return guarded("diopiAdaptiveMaxPool2dWithIndices", ctx,
                   [&] { maximum_of(2, out, tensor("indices", indices, kInt64), input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                      diopiConstTensorHandle_t grad_output,
                                                      diopiConstTensorHandle_t input,
                                                      diopiConstTensorHandle_t indices) {
    return guarded("diopiAdaptiveMaxPool2dBackward", ctx,
                   [&] { maximum_backward(2, grad_input, grad_output, input, indices); });
}

DIOPI_API diopiError_t diopiAdaptiveAvgPool3d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return guarded("diopiAdaptiveAvgPool3d", ctx, [&] { average(3, out, input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveAvgPool3dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                      diopiConstTensorHandle_t grad_output,
                                                      diopiConstTensorHandle_t input) {
    return guarded("diopiAdaptiveAvgPool3dBackward", ctx, [&] { average_backward(3, grad_input, grad_output, input); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool3d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                              diopiConstTensorHandle_t input, diopiSize_t output_size) {
    return guarded("diopiAdaptiveMaxPool3d", ctx, [&] { maximum_of(3, out, Tensor(), input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool3dWithIndices(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                                         diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
                                                         diopiSize_t output_size) {
    return guarded("diopiAdaptiveMaxPool3dWithIndices", ctx,
                   [&] { maximum_of(3, out, tensor("indices", indices, kInt64), input, output_size); });
}

DIOPI_API diopiError_t diopiAdaptiveMaxPool3dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                      diopiConstTensorHandle_t grad_output,
                                                      diopiConstTensorHandle_t input,
                                                      diopiConstTensorHandle_t indices) {
    return guarded("diopiAdaptiveMaxPool3dBackward", ctx,
                   [&] { maximum_backward(3, grad_input, grad_output, input, indices); });
}
