// SigmoidFocalLoss and its gradient (Lin et al., 2017): cross entropy times the probability of the wrong label to the
// power of gamma.
#include <diopi/functions.h>

#include "elementwise.h"

using namespace diopi::cpu;

namespace {

struct Focus {
    double alpha;
    double gamma;

    // The weight of a label: alpha for positive ones, 1 - alpha for negative ones, 1 for both where alpha is negative.
    double weight(double label) const { return alpha < 0 ? 1 : alpha * label + (1 - alpha) * (1 - label); }

    static double entropy(double logit, double label) {
        return label * softplus(-logit) + (1 - label) * softplus(logit);
    }
    // The probability of the wrong label.
    static double miss(double logit, double label) { return label * logistic(-logit) + (1 - label) * logistic(logit); }

    double loss(double logit, double label) const {
        return weight(label) * entropy(logit, label) * std::pow(miss(logit, label), gamma);
    }
    double slope(double logit, double label) const {
        const double p = logistic(logit);
        const double q = logistic(-logit);
        const double wrong = miss(logit, label);
        double result = ((1 - label) * p - label * q) * std::pow(wrong, gamma);
        if (gamma != 0) {
            result += entropy(logit, label) * gamma * std::pow(wrong, gamma - 1) * p * q * (1 - 2 * label);
        }
        return weight(label) * result;
    }
};

}  // namespace

DIOPI_API diopiError_t diopiSigmoidFocalLoss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                             diopiConstTensorHandle_t inputs, diopiConstTensorHandle_t targets,
                                             float alpha, float gamma, diopiReduction_t reduction) {
    return guarded("diopiSigmoidFocalLoss", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("inputs", inputs, kFloating);
        const Tensor target_tensor = tensor("targets", targets, kFloating);
        check_loss(out_tensor, input_tensor, target_tensor, {}, reduction);
        const Focus focus{alpha, gamma};
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            store_losses<T>(out_tensor, input_tensor.numel, reduction,
                            [&](int64_t i) { return focus.loss(x[i], y[i]); });
        });
    });
}

DIOPI_API diopiError_t diopiSigmoidFocalLossBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_output,
                                                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                                     diopiTensorHandle_t grad_input, float gamma, float alpha,
                                                     diopiReduction_t reduction) {
    return guarded("diopiSigmoidFocalLossBackward", [&] {
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kFloating);
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        check_gradient(gradient_tensor, incoming_tensor, input_tensor, target_tensor, {}, reduction);
        const Focus focus{alpha, gamma};
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            store_gradients<T>(gradient_tensor, incoming_tensor, reduction,
                               [&](int64_t i) { return focus.slope(x[i], y[i]); });
        });
    });
}
