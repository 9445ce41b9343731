// SmoothL1Loss and its gradient. The linear part begins at |difference| = beta; with beta = 0 there is no other. The
// loops.
#include "loss/elementwise.h"
#include "loss/loss_kernels.h"

namespace diopigen::core {

void smooth_l1_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                      diopiReduction_t reduction, double beta) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        store_losses<T>(out_tensor, input_tensor.numel, reduction, [&](int64_t i) {
            const double distance = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
            return distance < beta ? 0.5 * distance * distance / beta : distance - 0.5 * beta;
        });
    });
}

void smooth_l1_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                         const Tensor& target_tensor, diopiReduction_t reduction, double beta) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        store_gradients<T>(gradient_tensor, grad_out_tensor, reduction, [&](int64_t i) {
            const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
            return difference <= -beta ? -1.0 : difference >= beta ? 1.0 : difference / beta;
        });
    });
}

}  // namespace diopigen::core
