// SmoothL1Loss and its gradient. The linear part begins at |difference| = beta; with beta = 0 there is no other.
#include <diopi/functions.h>

#include "elementwise.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiSmoothL1Loss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                         diopiReduction_t reduction, double beta) {
    return guarded("diopiSmoothL1Loss", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kFloating);
        check_loss(out_tensor, input_tensor, target_tensor, {}, reduction);
        require(beta >= 0, "C1: beta is not negative");
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            store_losses<T>(out_tensor, input_tensor.numel, reduction, [&](int64_t i) {
                const double distance = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
                return distance < beta ? 0.5 * distance * distance / beta : distance - 0.5 * beta;
            });
        });
    });
}

DIOPI_API diopiError_t diopiSmoothL1LossBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                 diopiConstTensorHandle_t target, diopiReduction_t reduction,
                                                 double beta) {
    return guarded("diopiSmoothL1LossBackward", [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kFloating);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor, {}, reduction);
        require(beta >= 0, "C1: beta is not negative");
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            store_gradients<T>(gradient_tensor, incoming_tensor, reduction, [&](int64_t i) {
                const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
                return difference <= -beta ? -1.0 : difference >= beta ? 1.0 : difference / beta;
            });
        });
    });
}
