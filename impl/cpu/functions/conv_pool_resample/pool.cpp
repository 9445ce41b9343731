// Pool1d, Pool2d, Pool3d: every kind of pooling in one operator, forward and backward.
#include <diopi/functions.h>

#include <cstring>

#include "pooling.h"

using namespace diopi::cpu;

namespace {

struct Arguments {
    const char* mode;
    diopiSize_t ksize;
    diopiSize_t stride;
    diopiSize_t padding;
    diopiSize_t dilation;
    bool ceil_mode;
    bool exclusive;
    bool adaptive;
};

bool takes_maximum(const char* mode) {
    require_text("mode", mode, {"max", "avg"});
    return std::strcmp(mode, "max") == 0;
}

// The dilation is checked, but a mean does without it.
Pooling sliding(const Tensor& input, int space, const Arguments& arguments, bool is_maximum) {
    entries("C2", "dilation", arguments.dilation, space, 1, 1);
    const Window window = pool_window(space, "ksize", arguments.ksize, arguments.stride, arguments.padding,
                                      is_maximum ? &arguments.dilation : nullptr);
    return sliding_pool(input, space, window, arguments.ceil_mode, "C6");
}

void pool(int space, diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Arguments& arguments,
          diopiSize_t output_size) {
    const Tensor out_tensor = tensor("out", out, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const bool is_maximum = takes_maximum(arguments.mode);
    require_planes(input_tensor, space + 2, "C5");
    const Pooling pooling =
        arguments.adaptive ? adaptive_pool(input_tensor, space, entries("C1", "output_size", output_size, space, 0, 1))
                           : sliding(input_tensor, space, arguments, is_maximum);
    require_pooled(out_tensor, input_tensor, space, pooling);
    require_operands(out_tensor, {&input_tensor});
    if (is_maximum) {
        max_pool(out_tensor, Tensor(), input_tensor, pooling);
    } else {
        avg_pool(out_tensor, input_tensor, pooling, {!arguments.exclusive, nullptr});
    }
}

void pool_backward(int space, diopiTensorHandle_t grad_input, diopiConstTensorHandle_t grad_output,
                   diopiConstTensorHandle_t input, const Arguments& arguments, diopiConstTensorHandle_t indices) {
    const Tensor gradient = tensor("grad_input", grad_input, kFloating);
    const Tensor arriving = tensor("grad_output", grad_output, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Tensor positions = optional_tensor("indices", indices, kInt64);
    const bool is_maximum = takes_maximum(arguments.mode);
    require(!is_maximum || !positions.is_null(), "C1: parameter 'indices' must be given when mode is max");
    require_planes(input_tensor, space + 2, "C5");
    require_rank(arriving, input_tensor.rank, input_tensor.rank);
    const Pooling pooling = arguments.adaptive ? adaptive_pool(input_tensor, space, space_of(arriving, space))
                                               : sliding(input_tensor, space, arguments, is_maximum);
    require_pooled(arriving, input_tensor, space, pooling);
    require_same_shape(positions, arriving);
    require_same_dtype(gradient, input_tensor);
    require_same_shape(gradient, input_tensor);
    require_operands(gradient, {&arriving, &input_tensor, &positions});
    if (is_maximum) {
        max_pool_backward(gradient, arriving, positions, pooling,
                          "C7: when mode is max, every index is -1 or a position in its plane of input");
    } else {
        avg_pool_backward(gradient, arriving, pooling, {!arguments.exclusive, nullptr});
    }
}

}  // namespace

DIOPI_API diopiError_t diopiPool1d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   const char* mode, diopiSize_t ksize, diopiSize_t stride, diopiSize_t padding,
                                   diopiSize_t dilation, const bool ceil_mode, const bool exclusive,
                                   const bool adaptive, diopiSize_t output_size) {
    return guarded("diopiPool1d", ctx, [&] {
        pool(1, out, input, {mode, ksize, stride, padding, dilation, ceil_mode, exclusive, adaptive}, output_size);
    });
}

DIOPI_API diopiError_t diopiPool1dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                           const char* mode, diopiSize_t ksize, diopiSize_t stride, diopiSize_t padding,
                                           diopiSize_t dilation, const bool ceil_mode, const bool exclusive,
                                           const bool adaptive, diopiConstTensorHandle_t indices) {
    return guarded("diopiPool1dBackward", ctx, [&] {
        pool_backward(1, grad_input, grad_output, input,
                      {mode, ksize, stride, padding, dilation, ceil_mode, exclusive, adaptive}, indices);
    });
}

DIOPI_API diopiError_t diopiPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   const char* mode, diopiSize_t ksize, diopiSize_t stride, diopiSize_t padding,
                                   diopiSize_t dilation, const bool ceil_mode, const bool exclusive,
                                   const bool adaptive, diopiSize_t output_size) {
    return guarded("diopiPool2d", ctx, [&] {
        pool(2, out, input, {mode, ksize, stride, padding, dilation, ceil_mode, exclusive, adaptive}, output_size);
    });
}

DIOPI_API diopiError_t diopiPool2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                           const char* mode, diopiSize_t ksize, diopiSize_t stride, diopiSize_t padding,
                                           diopiSize_t dilation, const bool ceil_mode, const bool exclusive,
                                           const bool adaptive, diopiConstTensorHandle_t indices) {
    return guarded("diopiPool2dBackward", ctx, [&] {
        pool_backward(2, grad_input, grad_output, input,
                      {mode, ksize, stride, padding, dilation, ceil_mode, exclusive, adaptive}, indices);
    });
}

DIOPI_API diopiError_t diopiPool3d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   const char* mode, diopiSize_t ksize, diopiSize_t stride, diopiSize_t padding,
                                   diopiSize_t dilation, const bool ceil_mode, const bool exclusive,
                                   const bool adaptive, diopiSize_t output_size) {
    return guarded("diopiPool3d", ctx, [&] {
        pool(3, out, input, {mode, ksize, stride, padding, dilation, ceil_mode, exclusive, adaptive}, output_size);
    });
}

DIOPI_API diopiError_t diopiPool3dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                           const char* mode, diopiSize_t ksize, diopiSize_t stride, diopiSize_t padding,
                                           diopiSize_t dilation, const bool ceil_mode, const bool exclusive,
                                           const bool adaptive, diopiConstTensorHandle_t indices) {
    return guarded("diopiPool3dBackward", ctx, [&] {
        pool_backward(3, grad_input, grad_output, input,
                      {mode, ksize, stride, padding, dilation, ceil_mode, exclusive, adaptive}, indices);
    });
}
