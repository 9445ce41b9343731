// BCELoss and BCEWithLogits with their gradients. Logits go through softplus, so that nothing overflows and nothing
// large is taken from something large; logarithms of probabilities are cut off at -100, as PyTorch does.
#include <diopi/functions.h>

#include "elementwise.h"

using namespace diopi::cpu;

namespace {

constexpr double kLeastLog = -100;
// Below this the slope of the logarithm is cut off.
constexpr double kLeastVariance = 1e-12;

// std::max would lose NaN.
double at_least(double least, double x) { return x < least ? least : x; }

template <typename T>
void check_probabilities(const Input<T>& x, int64_t count) {
    bool are_valid = true;
    for (int64_t i = 0; i < count; ++i) {
        are_valid = are_valid && x[i] >= T(0) && x[i] <= T(1);
    }
    require(are_valid, "C1: every element of input lies between 0 and 1");
}

}  // namespace

DIOPI_API diopiError_t diopiBCELoss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                    diopiConstTensorHandle_t weight, diopiReduction_t reduction) {
    return guarded("diopiBCELoss", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        check_loss(out_tensor, input_tensor, target_tensor, {&weight_tensor}, reduction);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            const Factor<T> weights(weight_tensor, input_tensor);
            check_probabilities(x, input_tensor.numel);
            store_losses<T>(out_tensor, input_tensor.numel, reduction, [&](int64_t i) {
                const double p = x[i];
                const double wanted = y[i];
                const double hit = at_least(kLeastLog, vector_math::log(p));
                const double miss = at_least(kLeastLog, vector_math::log1p(-p));
                return ((wanted - 1) * miss - wanted * hit) * weights[i];
            });
        });
    });
}

DIOPI_API diopiError_t diopiBCELossBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                            diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                            diopiReduction_t reduction) {
    return guarded("diopiBCELossBackward", [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor, {&weight_tensor}, reduction);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            const Factor<T> weights(weight_tensor, input_tensor);
            store_gradients<T>(gradient_tensor, incoming_tensor, reduction, [&](int64_t i) {
                const double p = x[i];
                return (p - static_cast<double>(y[i])) / at_least(kLeastVariance, (1 - p) * p) * weights[i];
            });
        });
    });
}

DIOPI_API diopiError_t diopiBCEWithLogits(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                          diopiConstTensorHandle_t weight, diopiConstTensorHandle_t pos_weight,
                                          diopiReduction_t reduction) {
    return guarded("diopiBCEWithLogits", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor positive_tensor = optional_tensor("pos_weight", pos_weight, kFloating);
        check_loss(out_tensor, input_tensor, target_tensor, {&weight_tensor, &positive_tensor}, reduction);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            const Factor<T> weights(weight_tensor, input_tensor);
            const Factor<T> positive(positive_tensor, input_tensor);
            store_losses<T>(out_tensor, input_tensor.numel, reduction, [&](int64_t i) {
                const double logit = x[i];
                const double wanted = y[i];
                const double hit = positive[i] * wanted * softplus(-logit);
                return (hit + (1 - wanted) * softplus(logit)) * weights[i];
            });
        });
    });
}

DIOPI_API diopiError_t diopiBCEWithLogitsBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                  diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                  diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                                  diopiConstTensorHandle_t pos_weight, diopiReduction_t reduction) {
    return guarded("diopiBCEWithLogitsBackward", [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Tensor positive_tensor = optional_tensor("pos_weight", pos_weight, kFloating);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor,
                       {&weight_tensor, &positive_tensor}, reduction);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            const Factor<T> weights(weight_tensor, input_tensor);
            const Factor<T> positive(positive_tensor, input_tensor);
            store_gradients<T>(gradient_tensor, incoming_tensor, reduction, [&](int64_t i) {
                const double wanted = y[i];
                // The share of the negative label, which pulls the logit down, less that of the positive one.
                const double down = (1 - wanted) * logistic(x[i]);
                const double up = positive[i] * wanted * logistic(-static_cast<double>(x[i]));
                return (down - up) * weights[i];
            });
        });
    });
}
