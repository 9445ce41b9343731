// GroupNorm and its gradient, with statistics in double. The loops.
#include "norm/group_norm.h"
#include "norm/norm_kernels.h"

namespace diopigen::core {

void normalise_groups(const Tensor& out_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                      const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& bias_tensor,
                      const Groups& groups, double eps) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> scale(weight_tensor);
        const Input<T> shift(bias_tensor);
        const Output<T> y(out_tensor);
        const Output<double> means(mean_tensor);
        const Output<double> deviations(invstd_tensor);
        normalise_groups(groups, x, scale, shift, y, eps, [&](int64_t group, Moments moments) {
            means[group] = moments.mean;
            deviations[group] = moments.invstd;
        });
        y.store();
        means.store();
        deviations.store();
    });
}

void group_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                     const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                     const Tensor& mean_tensor, const Tensor& rstd_tensor, const Groups& groups) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> grad_out(grad_out_tensor);
        const Input<T> scale(weight_tensor);
        const Input<double> means(mean_tensor);
        const Input<double> deviations(rstd_tensor);
        const Output<T> gradient(gradient_tensor, input_tensor.numel);
        group_gradients(groups, x, grad_out, scale, gradient, scale_tensor, shift_tensor,
                        [&](int64_t group) { return Moments{means[group], deviations[group]}; });
    });
}

}  // namespace diopigen::core
