// SigmoidFocalLoss and its gradient (Lin et al., 2017): cross entropy times the probability of the wrong label to the
// power of gamma. The loops.
#include "loss/elementwise.h"
#include "loss/loss_kernels.h"

namespace diopigen::core {

void focal_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                  diopiReduction_t reduction, const Focus& focus) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        store_losses<T>(out_tensor, input_tensor.numel, reduction, [&](int64_t i) { return focus.loss(x[i], y[i]); });
    });
}

void focal_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                     const Tensor& target_tensor, diopiReduction_t reduction, const Focus& focus) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        store_gradients<T>(gradient_tensor, grad_out_tensor, reduction,
                           [&](int64_t i) { return focus.slope(x[i], y[i]); });
    });
}

}  // namespace diopigen::core
