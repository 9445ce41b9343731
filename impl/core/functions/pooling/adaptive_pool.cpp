// AdaptiveAvgPool and AdaptiveMaxPool of one to three dimensions, forward and backward.
#include "pooling.h"
#include "pooling_kernels.h"

using namespace diopigen::core;
namespace entry = diopigen::entry;

namespace {

void average(int space, const Tensor& out, const Tensor& input) {
    require_disjoint(out, input);
    avg_pool(out, input, adaptive_pool(input, out, space), Divisor());
}

void maximum_of(int space, const Tensor& out, const Tensor& indices, const Tensor& input) {
    require_disjoint(out, input);
    max_pool(out, indices, input, adaptive_pool(input, out, space));
}

void average_backward(int space, const Tensor& gradient, const Tensor& grad_out, const Tensor& input) {
    require_disjoint(gradient, grad_out);
    avg_pool_backward(gradient, grad_out, adaptive_pool(input, grad_out, space), Divisor());
}

void maximum_backward(int space, const Tensor& gradient, const Tensor& grad_out, const Tensor& input,
                      const Tensor& indices) {
    require_disjoint(gradient, grad_out);
    max_pool_backward(gradient, grad_out, indices, adaptive_pool(input, grad_out, space),
                      "C2: every index is -1 or a position in its plane of input");
}

}  // namespace

void entry::adaptive_avg_pool1d(const AdaptiveAvgPool1dArgs& args) { average(1, args.out, args.input); }
void entry::adaptive_avg_pool1d_backward(const AdaptiveAvgPool1dBackwardArgs& args) {
    average_backward(1, args.grad_input, args.grad_output, args.input);
}
void entry::adaptive_max_pool1d(const AdaptiveMaxPool1dArgs& args) { maximum_of(1, args.out, Tensor(), args.input); }
void entry::adaptive_max_pool1d_with_indices(const AdaptiveMaxPool1dWithIndicesArgs& args) {
    maximum_of(1, args.out, args.indices, args.input);
}
void entry::adaptive_max_pool1d_backward(const AdaptiveMaxPool1dBackwardArgs& args) {
    maximum_backward(1, args.grad_input, args.grad_output, args.input, args.indices);
}

void entry::adaptive_avg_pool2d(const AdaptiveAvgPool2dArgs& args) { average(2, args.out, args.input); }
void entry::adaptive_avg_pool2d_backward(const AdaptiveAvgPool2dBackwardArgs& args) {
    average_backward(2, args.grad_input, args.grad_output, args.input);
}
void entry::adaptive_max_pool2d(const AdaptiveMaxPool2dArgs& args) { maximum_of(2, args.out, Tensor(), args.input); }
void entry::adaptive_max_pool2d_with_indices(const AdaptiveMaxPool2dWithIndicesArgs& args) {
    maximum_of(2, args.out, args.indices, args.input);
}
void entry::adaptive_max_pool2d_backward(const AdaptiveMaxPool2dBackwardArgs& args) {
    maximum_backward(2, args.grad_input, args.grad_output, args.input, args.indices);
}

void entry::adaptive_avg_pool3d(const AdaptiveAvgPool3dArgs& args) { average(3, args.out, args.input); }
void entry::adaptive_avg_pool3d_backward(const AdaptiveAvgPool3dBackwardArgs& args) {
    average_backward(3, args.grad_input, args.grad_output, args.input);
}
void entry::adaptive_max_pool3d(const AdaptiveMaxPool3dArgs& args) { maximum_of(3, args.out, Tensor(), args.input); }
void entry::adaptive_max_pool3d_with_indices(const AdaptiveMaxPool3dWithIndicesArgs& args) {
    maximum_of(3, args.out, args.indices, args.input);
}
void entry::adaptive_max_pool3d_backward(const AdaptiveMaxPool3dBackwardArgs& args) {
    maximum_backward(3, args.grad_input, args.grad_output, args.input, args.indices);
}
