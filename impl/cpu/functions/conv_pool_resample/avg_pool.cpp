// AvgPool1d, AvgPool2d, AvgPool3d, forward and backward.
#include <diopi/functions.h>

#include "pooling.h"

using namespace diopi::cpu;

namespace {

void require_divisor(const int64_t* divisor, const char* message) {
    require(divisor == nullptr || *divisor != 0, message);
}

void pool(int space, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t kernel_size,
          diopiSize_t stride, diopiSize_t padding, bool ceil_mode, const Divisor& divisor) {
    const Tensor out_tensor = tensor("out", out, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    require_planes(input_tensor, space + 2);
    const Window window = pool_window(space, "kernel_size", kernel_size, stride, padding, nullptr);
    const Pooling pooling = sliding_pool(input_tensor, space, window, ceil_mode);
    require_divisor(divisor.fixed, "C5: parameter 'divisor_override' must not be 0");
    require_pooled(out_tensor, input_tensor, space, pooling);
    require_operands(out_tensor, {&input_tensor});
    avg_pool(out_tensor, input_tensor, pooling, divisor);
}

void pool_backward(int space, diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                   diopiConstTensorHandle_t input, diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                   bool ceil_mode, const Divisor& divisor) {
    const Tensor gradient = tensor("grad_input", grad_input, kFloating);
    const Tensor arriving = tensor("grad_output", grad_output, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    require_planes(input_tensor, space + 2);
    const Window window = pool_window(space, "kernel_size", kernel_size, stride, padding, nullptr);
    const Pooling pooling = sliding_pool(input_tensor, space, window, ceil_mode, space == 1 ? "C4" : "C5");
    require_divisor(divisor.fixed, "C4: parameter 'divisor_override' must not be 0");
    require_pooled(arriving, input_tensor, space, pooling);
    require_same_dtype(gradient, input_tensor);
    require_same_shape(gradient, input_tensor);
    require_operands(gradient, {&arriving, &input_tensor});
    avg_pool_backward(gradient, arriving, pooling, divisor);
}

}  // namespace

DIOPI_API diopiError_t diopiAvgPool1d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, bool ceil_mode,
                                      bool count_include_pad) {
    return guarded("diopiAvgPool1d", ctx,
                   [&] { pool(1, out, input, kernel_size, stride, padding, ceil_mode, {count_include_pad, nullptr}); });
}

DIOPI_API diopiError_t diopiAvgPool1dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                              bool ceil_mode, bool count_include_pad) {
    return guarded("diopiAvgPool1dBackward", ctx, [&] {
        pool_backward(1, grad_input, grad_output, input, kernel_size, stride, padding, ceil_mode,
                      {count_include_pad, nullptr});
    });
}

DIOPI_API diopiError_t diopiAvgPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, bool ceil_mode,
                                      bool count_include_pad, const int64_t* divisor_override) {
    return guarded("diopiAvgPool2d", ctx, [&] {
        pool(2, out, input, kernel_size, stride, padding, ceil_mode, {count_include_pad, divisor_override});
    });
}

DIOPI_API diopiError_t diopiAvgPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                              bool ceil_mode, bool count_include_pad, const int64_t* divisor_override) {
    return guarded("diopiAvgPool2dBackward", ctx, [&] {
        pool_backward(2, grad_input, grad_output, input, kernel_size, stride, padding, ceil_mode,
                      {count_include_pad, divisor_override});
    });
}

DIOPI_API diopiError_t diopiAvgPool3d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, bool ceil_mode,
                                      bool count_include_pad, const int64_t* divisor_override) {
    return guarded("diopiAvgPool3d", ctx, [&] {
        pool(3, out, input, kernel_size, stride, padding, ceil_mode, {count_include_pad, divisor_override});
    });
}

DIOPI_API diopiError_t diopiAvgPool3dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                                              bool ceil_mode, bool count_include_pad, const int64_t* divisor_override) {
    return guarded("diopiAvgPool3dBackward", ctx, [&] {
        pool_backward(3, grad_input, grad_output, input, kernel_size, stride, padding, ceil_mode,
                      {count_include_pad, divisor_override});
    });
}
