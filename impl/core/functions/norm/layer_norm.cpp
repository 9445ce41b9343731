// LayerNorm and LayerNormGB with their gradients: statistics over the trailing dimensions, in double.
#include "norm.h"
#include "norm_kernels.h"
#include "trailing.h"

using namespace diopigen::core;

namespace {

void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& invstd, const Tensor& input, const Tensor& weight,
                const Tensor& bias, const Trailing& parts, double eps) {
    require_factor_dtypes({&weight, &bias}, input);
    require_separate({&out, &mean, &invstd}, {&weight, &bias});
    require_separate({&mean, &invstd}, {&input});
    normalise_rows(out, mean, invstd, input, weight, bias, parts, eps);
}

void layer_norm_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                         const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Tensor& mean, const Tensor& invstd, const Trailing& parts) {
    require_factor_dtypes({&weight, &bias, &grad_weight, &grad_bias}, input);
    require_separate({&grad_input, &grad_weight, &grad_bias}, {&grad_output, &input, &weight, &bias, &mean, &invstd});
    row_gradients(grad_input, grad_weight, grad_bias, grad_output, input, weight, mean, invstd, parts);
}

}  // namespace

void diopigen::entry::layer_norm(const LayerNormArgs& args) {
    ::layer_norm(args.out, args.save_mean, args.save_invstd, args.input, args.weight, args.bias,
                 trailing(args.input, args.normalized_shape), args.eps);
}

void diopigen::entry::layer_norm_backward(const LayerNormBackwardArgs& args) {
    ::layer_norm_backward(args.grad_input, args.grad_weight, args.grad_bias, args.grad_output, args.input, args.weight,
                          args.bias, args.mean, args.rstd, trailing(args.input, args.normalized_shape));
}

void diopigen::entry::layer_norm_gb(const LayerNormGBArgs& args) {
    ::layer_norm(args.out, args.running_mean, args.running_var, args.input, args.weight, args.bias,
                 Trailing(args.input, args.begin_norm_axis), args.eps);
}

void diopigen::entry::layer_norm_gb_backward(const LayerNormGBBackwardArgs& args) {
    ::layer_norm_backward(args.grad_input, args.grad_weight, args.grad_bias, args.grad_output, args.input, args.weight,
                          args.bias, args.running_mean, args.running_std, Trailing(args.input, args.begin_norm_axis));
}
