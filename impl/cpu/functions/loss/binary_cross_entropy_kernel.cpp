// BCELoss and BCEWithLogits with their gradients. Logits go through softplus, so that nothing overflows and nothing
// large is taken from something large; logarithms of probabilities are cut off at -100, as PyTorch does. The loops.
#include "loss/elementwise.h"
#include "loss/loss_kernels.h"

namespace diopigen::core {

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
    require(are_valid, kProbabilityRule);
}

}  // namespace

void bce_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                const Tensor& weight_tensor, diopiReduction_t reduction) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        const Factor<T> weights(weight_tensor, input_tensor);
        check_probabilities(x, input_tensor.numel);
        store_losses<T>(out_tensor, input_tensor.numel, reduction, [&](int64_t i) {
            const double p = x[i];
            const double target = y[i];
            const double hit = at_least(kLeastLog, vector_math::log(p));
            const double miss = at_least(kLeastLog, vector_math::log1p(-p));
            return ((target - 1) * miss - target * hit) * weights[i];
        });
    });
}

void bce_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                   const Tensor& target_tensor, const Tensor& weight_tensor, diopiReduction_t reduction) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        const Factor<T> weights(weight_tensor, input_tensor);
        store_gradients<T>(gradient_tensor, grad_out_tensor, reduction, [&](int64_t i) {
            const double p = x[i];
            return (p - static_cast<double>(y[i])) / at_least(kLeastVariance, (1 - p) * p) * weights[i];
        });
    });
}

void logit_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                  const Tensor& weight_tensor, const Tensor& positive_tensor, diopiReduction_t reduction) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        const Factor<T> weights(weight_tensor, input_tensor);
        const Factor<T> positive(positive_tensor, input_tensor);
        store_losses<T>(out_tensor, input_tensor.numel, reduction, [&](int64_t i) {
            const double logit = x[i];
            const double target = y[i];
            const double hit = positive[i] * target * softplus(-logit);
            return (hit + (1 - target) * softplus(logit)) * weights[i];
        });
    });
}

void logit_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                     const Tensor& target_tensor, const Tensor& weight_tensor, const Tensor& positive_tensor,
                     diopiReduction_t reduction) {
    dispatch_compute<kFloating>(loss_dtype(input_tensor, target_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> y(target_tensor);
        const Factor<T> weights(weight_tensor, input_tensor);
        const Factor<T> positive(positive_tensor, input_tensor);
        store_gradients<T>(gradient_tensor, grad_out_tensor, reduction, [&](int64_t i) {
            const double target = y[i];
            // The weight of the negative label, which pulls the logit down, less that of the positive one.
            const double down = (1 - target) * logistic(x[i]);
            const double up = positive[i] * target * logistic(-static_cast<double>(x[i]));
            return (down - up) * weights[i];
        });
    });
}

}  // namespace diopigen::core
