// MSELoss and its gradient: sums in double. The loops.
#include "loss/elementwise.h"
#include "loss/loss_kernels.h"

namespace diopigen::core {

void mse_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                diopiReduction_t reduction) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        store_losses<T>(out_tensor, input_tensor.numel, reduction, [&](int64_t i) {
            const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
            return difference * difference;
        });
    });
}

void mse_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                   const Tensor& target_tensor, diopiReduction_t reduction) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        store_gradients<T>(gradient_tensor, grad_out_tensor, reduction,
                           [&](int64_t i) { return 2 * (static_cast<double>(x[i]) - static_cast<double>(y[i])); });
    });
}

}  // namespace diopigen::core
