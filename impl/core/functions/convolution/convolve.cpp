// Convolution2d, Convolution3d, their transposed forms, and the gradients of all.
#include "convolution.h"
#include "convolution_kernels.h"
#include "diopi_core/dense.h"

using namespace diopigen::core;
namespace entry = diopigen::entry;

namespace {

template <typename Args>
Window window_of(int space, const Args& args) {
    return {space_of(args.weight, space), entries("stride", args.stride, space, 1),
            entries("padding", args.padding, space, 0), entries("dilation", args.dilation, space, 1)};
}

// The convolution of `images` that gives `responses`.
template <typename Args>
Convolution convolution_of(int space, const Args& args, const Tensor& images, const Tensor& responses) {
    for (const Tensor* tensor : {&images, &responses, &args.weight}) {
        require_countable(*tensor);
    }
    require(args.groups <= kLargestEntry, "parameter 'groups' is larger than this library counts");
    return {images.shape[0],
            images.shape[1],
            responses.shape[1],
            args.groups,
            {window_of(space, args), space_of(images, space), space_of(responses, space)}};
}

// What the contract leaves open: gradients share no memory with anything, and that of the weight may be wider for
// halves. One that is not requested is null.
template <typename Args>
void check_gradients(const Args& args) {
    const bool is_half = args.weight.dtype == Dtype::kFloat16 || args.weight.dtype == Dtype::kBfloat16;
    if (!is_half || args.grad_weight.dtype != Dtype::kFloat32) {
        require_same_dtype(args.grad_weight, args.weight);
    }
    for (const Tensor* written : {&args.grad_input, &args.grad_weight, &args.grad_bias}) {
        for (const Tensor* operand :
             {&args.grad_output, &args.input, &args.weight, &args.grad_input, &args.grad_weight, &args.grad_bias}) {
            if (operand != written) {
                require_disjoint(*written, *operand);
            }
        }
    }
}

// Sums in a wider dtype, which hosts request for float16 and bfloat16, are computed from operands of that dtype.
template <typename Args>
void find_grad_weight(const Args& args, const Tensor& image, const Tensor& response, const Convolution& convolution) {
    if (args.grad_weight.numel == 0) {
        return;
    }
    const Dtype dtype = args.grad_weight.dtype;
    if (dtype == image.dtype) {
        correlate(args.grad_weight, image, response, convolution);
        return;
    }
    const auto widened = [&](const Tensor& operand) {
        Temporary copy(shape_of(operand), dtype, operand);
        copy_elements(copy.tensor(), operand);
        return copy;
    };
    correlate(args.grad_weight, widened(image).tensor(), widened(response).tensor(), convolution);
}

template <typename Args>
void convolve(int space, const Args& args) {
    for (const Tensor* operand : {&args.input, &args.weight, &args.bias}) {
        require_disjoint(args.out, *operand);
    }
    respond(args.out, args.input, args.weight, args.bias, convolution_of(space, args, args.input, args.out));
}

// The gradients of a convolution of `image` that gives `response`. That of the input is found by `find_grad_input`: for
// the plain form the input is the image, for the transposed one the response.
template <typename Args, typename FindGradInput>
void gradients(const Args& args, const Tensor& image, const Tensor& response, const Convolution& convolution,
               const FindGradInput& find_grad_input) {
    if (!args.grad_input.is_null()) {
        find_grad_input(args.grad_input, args.grad_output, args.weight, Tensor(), convolution);
    }
    find_grad_weight(args, image, response, convolution);
    if (!args.grad_bias.is_null()) {
        sum_channels(args.grad_bias, args.grad_output);
    }
}

template <typename Args>
void convolve_backward(int space, const Args& args) {
    check_gradients(args);
    gradients(args, args.input, args.grad_output, convolution_of(space, args, args.input, args.grad_output),
              respond_transposed);
}

template <typename Args>
void transpose(int space, const Args& args) {
    for (const Tensor* operand : {&args.input, &args.weight, &args.bias}) {
        require_disjoint(args.out, *operand);
    }
    respond_transposed(args.out, args.input, args.weight, args.bias, convolution_of(space, args, args.out, args.input));
}

template <typename Args>
void transpose_backward(int space, const Args& args) {
    check_gradients(args);
    gradients(args, args.grad_output, args.input, convolution_of(space, args, args.grad_output, args.input), respond);
}

}  // namespace

void entry::convolution2d(const Convolution2dArgs& args) { convolve(2, args); }
void entry::convolution2d_backward(const Convolution2dBackwardArgs& args) { convolve_backward(2, args); }
void entry::conv_transpose2d(const ConvTranspose2dArgs& args) { transpose(2, args); }
void entry::conv_transpose2d_backward(const ConvTranspose2dBackwardArgs& args) { transpose_backward(2, args); }

void entry::convolution3d(const Convolution3dArgs& args) { convolve(3, args); }
void entry::convolution3d_backward(const Convolution3dBackwardArgs& args) { convolve_backward(3, args); }
void entry::conv_transpose3d(const ConvTranspose3dArgs& args) { transpose(3, args); }
void entry::conv_transpose3d_backward(const ConvTranspose3dBackwardArgs& args) { transpose_backward(3, args); }
