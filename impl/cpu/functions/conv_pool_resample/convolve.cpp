// Convolution2d, Convolution3d, their transposed forms, and the gradients of all.
#include <diopi/functions.h>

#include <string>
#include <vector>

#include "convolution.h"
#include "diopi_cpu/dense.h"

using namespace diopi::cpu;

namespace {

struct Arguments {
    diopiSize_t stride;
    diopiSize_t padding;
    diopiSize_t dilation;
    int64_t groups;
};

Window window_of(const Tensor& weight, int space, const Arguments& arguments) {
    return {space_of(weight, space), entries("C2", "stride", arguments.stride, space, 1, 1),
            entries("C3", "padding", arguments.padding, space, 0, 0),
            entries("C2", "dilation", arguments.dilation, space, 1, 1)};
}

void require_filter(const Window& window, const Tensor& weight, const Triple& positions, const char* constraint) {
    for (int k = 0; k < kSpace; ++k) {
        if (window.kernel[k] < 1 || window.kernel[k] > kLargestEntry || positions[k] < 1) {
            fail(std::string(constraint) + ": parameter '" + weight.name +
                 "' must have elements and, dilated, not be larger than the padded input");
        }
    }
}

// The convolution that a call asks for. `input` holds its images; `fits` is the constraint that the filter fits.
Convolution convolution_of(const Tensor& input, const Tensor& weight, int space, const Arguments& arguments,
                           const char* fits) {
    require_rank(input, space + 2, space + 2);
    require_rank(weight, space + 2, space + 2);
    const int64_t groups = arguments.groups;
    Convolution convolution{input.shape[0], input.shape[1], weight.shape[0], groups, {}};
    require(groups >= 1 && convolution.channels % groups == 0 && convolution.filters % groups == 0,
            "C1: parameter 'groups' must be at least 1 and divide the channels of input and the filters of weight");
    const Window window = window_of(weight, space, arguments);
    convolution.sliding = {window, space_of(input, space), {}};
    for (int k = 0; k < kSpace; ++k) {
        convolution.sliding.positions[k] = window.count(k, convolution.sliding.size[k]);
    }
    require_filter(window, weight, convolution.sliding.positions, fits);
    std::vector<int64_t> shape = shape_of(weight);
    shape[1] = convolution.depth();
    require_shape(weight, shape);
    require_same_dtype(weight, input);
    return convolution;
}

// The convolution whose transposed form a call asks for. `input` holds its responses; `fits` is the constraint that
// neither it, the weight nor the result is without elements.
Convolution transposed_of(const Tensor& input, const Tensor& weight, int space, const Arguments& arguments,
                          diopiSize_t output_padding, const char* fits) {
    const auto require_elements = [&](bool has_elements, const char* message) {
        if (!has_elements) {
            fail(std::string(fits) + message);
        }
    };
    require_rank(input, space + 2, space + 2);
    require_rank(weight, space + 2, space + 2);
    const int64_t groups = arguments.groups;
    const int64_t filters = input.shape[1];
    require(groups >= 1 && filters % groups == 0,
            "C1: parameter 'groups' must be at least 1 and divide the channels of input");
    require(groups <= kLargestEntry && weight.shape[1] <= kLargestEntry, "C1: parameter 'groups' is too large");
    Convolution convolution{input.shape[0], weight.shape[1] * groups, filters, groups, {}};
    const Window window = window_of(weight, space, arguments);
    const Triple added = entries("C4", "output_padding", output_padding, space, 0, 0);
    convolution.sliding = {window, {}, space_of(input, space)};
    for (int k = 0; k < kSpace; ++k) {
        require(added[k] < window.step[k] || added[k] < window.spread[k],
                "C4: parameter 'output_padding' must be below the stride or the dilation");
        require_elements(window.kernel[k] >= 1 && window.kernel[k] <= kLargestEntry,
                         ": parameter 'weight' has no elements");
        const int64_t positions = convolution.sliding.positions[k];
        require_elements(positions >= 1 && positions <= kLargestEntry, ": parameter 'input' has no elements");
        const int64_t size = (positions - 1) * window.step[k] - 2 * window.pad[k] + window.extent(k) + added[k];
        require_elements(size >= 1, ": parameter 'padding' leaves no elements of the result");
        convolution.sliding.size[k] = size;
    }
    std::vector<int64_t> shape = shape_of(weight);
    shape[0] = filters;
    require_shape(weight, shape);
    require_same_dtype(weight, input);
    return convolution;
}

std::vector<int64_t> batch_of(const Tensor& like, int64_t channels, const Triple& size, int space) {
    std::vector<int64_t> shape = with_space(like, size, space);
    shape[1] = channels;
    return shape;
}

struct Results {
    diopiContextHandle_t ctx;
    Tensor grad_input;
    Tensor grad_weight;
    Tensor grad_bias;

    Results(diopiContextHandle_t context, diopiTensorHandle_t input, diopiTensorHandle_t weight,
            diopiTensorHandle_t bias)
        : ctx(context),
          grad_input(optional_tensor("grad_input", input, kFloating)),
          grad_weight(optional_tensor("grad_weight", weight, kFloating)),
          grad_bias(optional_tensor("grad_bias", bias, kFloating)) {}

    // `channels` counts those of the forward result.
    void check(const Tensor& arriving, const Tensor& input, const Tensor& weight, int64_t channels,
               const diopiSize_t* bias_sizes, const char* message) const {
        require(bias_sizes == nullptr ||
                    (bias_sizes->len == 1 && bias_sizes->data != nullptr && bias_sizes->data[0] == channels),
                message);
        require_same_dtype(arriving, input);
        require_same_shape(grad_input, input);
        require_same_shape(grad_weight, weight);
        require_shape(grad_bias, {channels});
        require_same_dtype(grad_input, input);
        require_same_dtype(grad_bias, input);
        const bool is_half = input.dtype == Dtype::kFloat16 || input.dtype == Dtype::kBfloat16;
        if (!is_half || grad_weight.dtype != Dtype::kFloat32) {
            require_same_dtype(grad_weight, input);
        }
        for (const Tensor* written : {&grad_input, &grad_weight, &grad_bias}) {
            require_operands(*written, {&arriving, &input, &weight});
        }
        require_operands(grad_input, {&grad_weight, &grad_bias});
        require_operands(grad_weight, {&grad_bias});
    }

    // Sums in a wider dtype, which hosts ask for beside halves, are made of operands of that dtype.
    void find_grad_weight(const Tensor& image, const Tensor& response, const Convolution& convolution) const {
        if (grad_weight.dtype == image.dtype) {
            correlate(grad_weight, image, response, convolution);
        } else if (!grad_weight.is_null()) {
            correlate(grad_weight, widened(image), widened(response), convolution);
        }
    }

  private:
    Tensor widened(const Tensor& operand) const {
        const Tensor copy = new_tensor(ctx, operand.name, shape_of(operand), grad_weight.dtype, operand);
        copy_elements(copy, operand);
        return copy;
    }
};

void convolve(int space, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
              diopiConstTensorHandle_t bias, const Arguments& arguments) {
    const Tensor out_tensor = tensor("out", out, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Tensor weight_tensor = tensor("weight", weight, kFloating);
    const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
    const Convolution convolution = convolution_of(input_tensor, weight_tensor, space, arguments, "C4");
    require_same_dtype(out_tensor, input_tensor);
    require_same_dtype(bias_tensor, input_tensor);
    require_shape(bias_tensor, {convolution.filters});
    require_shape(out_tensor, batch_of(input_tensor, convolution.filters, convolution.sliding.positions, space));
    require_operands(out_tensor, {&input_tensor, &weight_tensor, &bias_tensor});
    respond(out_tensor, input_tensor, weight_tensor, bias_tensor, convolution);
}

void convolve_backward(int space, const Results& results, diopiConstTensorHandle_t grad_output,
                       diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, const diopiSize_t* bias_sizes,
                       const Arguments& arguments) {
    const Tensor arriving = tensor("grad_output", grad_output, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Tensor weight_tensor = tensor("weight", weight, kFloating);
    const Convolution convolution = convolution_of(input_tensor, weight_tensor, space, arguments, "C5");
    require_shape(arriving, batch_of(input_tensor, convolution.filters, convolution.sliding.positions, space));
    results.check(arriving, input_tensor, weight_tensor, convolution.filters, bias_sizes,
                  "C4: parameter 'bias_sizes' must be null or the number of filters");
    if (!results.grad_input.is_null()) {
        place(results.grad_input, arriving, weight_tensor, Tensor(), convolution);
    }
    results.find_grad_weight(input_tensor, arriving, convolution);
    if (!results.grad_bias.is_null()) {
        sum_channels(results.grad_bias, arriving);
    }
}

void transpose(int space, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
               diopiConstTensorHandle_t bias, diopiSize_t output_padding, const Arguments& arguments) {
    const Tensor out_tensor = tensor("out", out, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Tensor weight_tensor = tensor("weight", weight, kFloating);
    const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
    const Convolution convolution = transposed_of(input_tensor, weight_tensor, space, arguments, output_padding, "C5");
    require_same_dtype(out_tensor, input_tensor);
    require_same_dtype(bias_tensor, input_tensor);
    require_shape(bias_tensor, {convolution.channels});
    require_shape(out_tensor, batch_of(input_tensor, convolution.channels, convolution.sliding.size, space));
    require_operands(out_tensor, {&input_tensor, &weight_tensor, &bias_tensor});
    place(out_tensor, input_tensor, weight_tensor, bias_tensor, convolution);
}

void transpose_backward(int space, const Results& results, diopiConstTensorHandle_t grad_output,
                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, const diopiSize_t* bias_sizes,
                        diopiSize_t output_padding, const Arguments& arguments) {
    const Tensor arriving = tensor("grad_output", grad_output, kFloating);
    const Tensor input_tensor = tensor("input", input, kFloating);
    const Tensor weight_tensor = tensor("weight", weight, kFloating);
    const Convolution convolution = transposed_of(input_tensor, weight_tensor, space, arguments, output_padding, "C6");
    require_shape(arriving, batch_of(input_tensor, convolution.channels, convolution.sliding.size, space));
    results.check(arriving, input_tensor, weight_tensor, convolution.channels, bias_sizes,
                  "C5: parameter 'bias_sizes' must be null or the number of channels of the result");
    if (!results.grad_input.is_null()) {
        respond(results.grad_input, arriving, weight_tensor, Tensor(), convolution);
    }
    results.find_grad_weight(arriving, input_tensor, convolution);
    if (!results.grad_bias.is_null()) {
        sum_channels(results.grad_bias, arriving);
    }
}

}  // namespace

DIOPI_API diopiError_t diopiConvolution2d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                          diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
                                          diopiSize_t dilation, int64_t groups) {
    return guarded("diopiConvolution2d", ctx,
                   [&] { convolve(2, out, input, weight, bias, {stride, padding, dilation, groups}); });
}

DIOPI_API diopiError_t diopiConvolution2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                  diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                                  diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                  diopiConstTensorHandle_t weight, diopiSize_t* bias_sizes,
                                                  diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                                                  int64_t groups) {
    return guarded("diopiConvolution2dBackward", ctx, [&] {
        convolve_backward(2, {ctx, grad_input, grad_weight, grad_bias}, grad_output, input, weight, bias_sizes,
                          {stride, padding, dilation, groups});
    });
}

DIOPI_API diopiError_t diopiConvTranspose2d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                            diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
                                            diopiSize_t output_padding, int64_t groups, diopiSize_t dilation) {
    return guarded("diopiConvTranspose2d", ctx, [&] {
        transpose(2, out, input, weight, bias, output_padding, {stride, padding, dilation, groups});
    });
}

DIOPI_API diopiError_t diopiConvTranspose2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                                    diopiConstTensorHandle_t grad_output,
                                                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                                    diopiSize_t* bias_sizes, diopiSize_t stride, diopiSize_t padding,
                                                    diopiSize_t dilation, diopiSize_t output_padding, int64_t groups) {
    return guarded("diopiConvTranspose2dBackward", ctx, [&] {
        transpose_backward(2, {ctx, grad_input, grad_weight, grad_bias}, grad_output, input, weight, bias_sizes,
                           output_padding, {stride, padding, dilation, groups});
    });
}

DIOPI_API diopiError_t diopiConvolution3d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                          diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
                                          diopiSize_t dilation, int64_t groups) {
    return guarded("diopiConvolution3d", ctx,
                   [&] { convolve(3, out, input, weight, bias, {stride, padding, dilation, groups}); });
}

DIOPI_API diopiError_t diopiConvolution3dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                  diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                                  diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                  diopiConstTensorHandle_t weight, diopiSize_t* bias_sizes,
                                                  diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                                                  int64_t groups) {
    return guarded("diopiConvolution3dBackward", ctx, [&] {
        convolve_backward(3, {ctx, grad_input, grad_weight, grad_bias}, grad_output, input, weight, bias_sizes,
                          {stride, padding, dilation, groups});
    });
}

DIOPI_API diopiError_t diopiConvTranspose3d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                            diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
                                            diopiSize_t output_padding, int64_t groups, diopiSize_t dilation) {
    return guarded("diopiConvTranspose3d", ctx, [&] {
        transpose(3, out, input, weight, bias, output_padding, {stride, padding, dilation, groups});
    });
}

DIOPI_API diopiError_t diopiConvTranspose3dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                                    diopiConstTensorHandle_t grad_output,
                                                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                                    diopiSize_t* bias_sizes, diopiSize_t stride, diopiSize_t padding,
                                                    diopiSize_t dilation, diopiSize_t output_padding, int64_t groups) {
    return guarded("diopiConvTranspose3dBackward", ctx, [&] {
        transpose_backward(3, {ctx, grad_input, grad_weight, grad_bias}, grad_output, input, weight, bias_sizes,
                           output_padding, {stride, padding, dilation, groups});
    });
}
