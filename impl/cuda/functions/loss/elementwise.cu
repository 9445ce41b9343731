// Losses that are computed element by element, and their gradients. Values are made in double and then added up like
// any others.
#include "diopi_cpu/math.h"
#include "diopi_cuda/flag.h"
#include "diopi_cuda/launch.h"
#include "loss/kernels.h"
#include "reduction/kernels.h"

namespace diopi::cuda {

namespace {

// What one element has: the input, the target, its weight and that of the positive label.
struct Mse {
    DIOPI_DEVICE double loss(double x, double y, double, double) const { return (x - y) * (x - y); }
    DIOPI_DEVICE double slope(double x, double y, double, double) const { return 2 * (x - y); }
};

struct SmoothL1 {
    double beta;
    DIOPI_DEVICE double loss(double x, double y, double, double) const {
        const double distance = numeric::abs(x - y);
        return distance < beta ? 0.5 * distance * distance / beta : distance - 0.5 * beta;
    }
    DIOPI_DEVICE double slope(double x, double y, double, double) const {
        const double difference = x - y;
        return difference <= -beta ? -1.0 : difference >= beta ? 1.0 : difference / beta;
    }
};

// A maximum that keeps NaN.
DIOPI_DEVICE double at_least(double least, double x) { return x < least ? least : x; }

// Logarithms are cut off at -100, and their slope where the variance is below 1e-12, as in PyTorch.
struct Bce {
    DIOPI_DEVICE double loss(double x, double y, double weight, double) const {
        const double hit = at_least(-100, numeric::log(x));
        const double miss = at_least(-100, numeric::log1p(-x));
        return ((y - 1) * miss - y * hit) * weight;
    }
    DIOPI_DEVICE double slope(double x, double y, double weight, double) const {
        return (x - y) / at_least(1e-12, (1 - x) * x) * weight;
    }
};

struct Logits {
    DIOPI_DEVICE double loss(double x, double y, double weight, double positive) const {
        return (positive * y * softplus(-x) + (1 - y) * softplus(x)) * weight;
    }
    DIOPI_DEVICE double slope(double x, double y, double weight, double positive) const {
        return ((1 - y) * logistic(x) - positive * y * logistic(-x)) * weight;
    }
};

struct Focal {
    Focus focus;
    DIOPI_DEVICE double loss(double x, double y, double, double) const { return focus.loss(x, y); }
    DIOPI_DEVICE double slope(double x, double y, double, double) const { return focus.slope(x, y); }
};

// A factor that broadcasts to the shape of `input`; 1 where it is null.
template <typename T>
class Factor {
  public:
    Factor(const Tensor& factor, const Tensor& input)
        : view_(factor.is_null() ? View(Tensor(), {}, {}) : expanded(factor, shape_of(input))),
          values_(view_.tensor()) {}
    const T* data() const { return values_.data(); }

  private:
    View view_;
    Input<T> values_;
};

template <typename T>
DIOPI_DEVICE double factor_at(const T* values, int64_t i) {
    return values != nullptr ? static_cast<double>(values[i]) : 1.0;
}

template <typename T, typename R, typename Formula>
void make_losses(R* losses, const T* x, const T* y, const T* weight, const T* positive, int64_t count,
                 const Formula& formula) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        losses[i] = static_cast<R>(formula.loss(static_cast<double>(x[i]), static_cast<double>(y[i]),
                                                factor_at(weight, i), factor_at(positive, i)));
    });
}

template <typename T, typename Formula>
void make_gradients(T* gradient, const T* incoming, const T* x, const T* y, const T* weight, const T* positive,
                    double divisor, int64_t count, const Formula& formula) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        const double slope = formula.slope(static_cast<double>(x[i]), static_cast<double>(y[i]), factor_at(weight, i),
                                           factor_at(positive, i));
        gradient[i] = static_cast<T>(slope * static_cast<double>(incoming[i]) / divisor);
    });
}

struct LossTensors {
    const Tensor& input;
    const Tensor& target;
    const Tensor& weight;
    const Tensor& positive;
};

template <typename Formula>
void losses(const Tensor& out, const LossTensors& tensors, diopiReduction_t reduction, const Formula& formula) {
    dispatch_compute<kFloating>(tensors.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const int64_t count = tensors.input.numel;
        const Input<T> x(tensors.input);
        const Input<T> y(tensors.target);
        const Factor<T> weight(tensors.weight, tensors.input);
        const Factor<T> positive(tensors.positive, tensors.input);
        if (reduction == ReductionNone) {
            const Output<T> result(out);
            make_losses<T, T>(result.data(), x.data(), y.data(), weight.data(), positive.data(), count, formula);
            result.store();
            return;
        }
        Buffer memory;
        memory.allocate(count * static_cast<int64_t>(sizeof(double)));
        make_losses<T, double>(static_cast<double*>(memory.data()), x.data(), y.data(), weight.data(), positive.data(),
                               count, formula);
        Tensor base = tensors.input;
        base.data = memory.data();
        base.dtype = Dtype::kFloat64;
        const View all(base, {count}, {1});
        const Rows rows = rows_over(all.tensor(), "input", diopiSize_t{nullptr, 0});
        reduction == ReductionMean ? fold_mean(out, all.tensor(), rows) : fold_sum(out, all.tensor(), rows);
    });
}

template <typename Formula>
void gradients(const Tensor& gradient, const Tensor& grad_output, const LossTensors& tensors,
               diopiReduction_t reduction, const Formula& formula) {
    const double divisor = reduction == ReductionMean ? static_cast<double>(gradient.numel) : 1.0;
    const View incoming_view = expanded(grad_output, shape_of(gradient));
    dispatch_compute<kFloating>(tensors.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(tensors.input);
        const Input<T> y(tensors.target);
        const Input<T> incoming(incoming_view.tensor());
        const Factor<T> weight(tensors.weight, tensors.input);
        const Factor<T> positive(tensors.positive, tensors.input);
        const Output<T> result(gradient);
        make_gradients<T>(result.data(), incoming.data(), x.data(), y.data(), weight.data(), positive.data(), divisor,
                          gradient.numel, formula);
        result.store();
    });
}

template <typename T>
void mark_improbable(const T* x, int64_t count, int* flag) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (!(x[i] >= T(0) && x[i] <= T(1))) {
            *flag = 1;
        }
    });
}

void require_probabilities(const Tensor& input) {
    const Flag is_wrong;
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        mark_improbable<T>(x.data(), input.numel, is_wrong.data());
    });
    require(!is_wrong.is_raised(), kProbabilityRule);
}

const Tensor kNone;

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

using cuda::kNone;

void mse_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                diopiReduction_t reduction) {
    cuda::losses(out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction, cuda::Mse());
}

void mse_gradients(const Tensor& gradient_tensor, const Tensor& incoming_tensor, const Tensor& input_tensor,
                   const Tensor& target_tensor, diopiReduction_t reduction) {
    cuda::gradients(gradient_tensor, incoming_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction,
                    cuda::Mse());
}

void smooth_l1_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                      diopiReduction_t reduction, double beta) {
    cuda::losses(out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction, cuda::SmoothL1{beta});
}

void smooth_l1_gradients(const Tensor& gradient_tensor, const Tensor& incoming_tensor, const Tensor& input_tensor,
                         const Tensor& target_tensor, diopiReduction_t reduction, double beta) {
    cuda::gradients(gradient_tensor, incoming_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction,
                    cuda::SmoothL1{beta});
}

void bce_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                const Tensor& weight_tensor, diopiReduction_t reduction) {
    cuda::require_probabilities(input_tensor);
    cuda::losses(out_tensor, {input_tensor, target_tensor, weight_tensor, kNone}, reduction, cuda::Bce());
}

void bce_gradients(const Tensor& gradient_tensor, const Tensor& incoming_tensor, const Tensor& input_tensor,
                   const Tensor& target_tensor, const Tensor& weight_tensor, diopiReduction_t reduction) {
    cuda::gradients(gradient_tensor, incoming_tensor, {input_tensor, target_tensor, weight_tensor, kNone}, reduction,
                    cuda::Bce());
}

void logit_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                  const Tensor& weight_tensor, const Tensor& positive_tensor, diopiReduction_t reduction) {
    cuda::losses(out_tensor, {input_tensor, target_tensor, weight_tensor, positive_tensor}, reduction, cuda::Logits());
}

void logit_gradients(const Tensor& gradient_tensor, const Tensor& incoming_tensor, const Tensor& input_tensor,
                     const Tensor& target_tensor, const Tensor& weight_tensor, const Tensor& positive_tensor,
                     diopiReduction_t reduction) {
    cuda::gradients(gradient_tensor, incoming_tensor, {input_tensor, target_tensor, weight_tensor, positive_tensor},
                    reduction, cuda::Logits());
}

void focal_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                  diopiReduction_t reduction, const Focus& focus) {
    cuda::losses(out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction, cuda::Focal{focus});
}

void focal_gradients(const Tensor& gradient_tensor, const Tensor& incoming_tensor, const Tensor& input_tensor,
                     const Tensor& target_tensor, diopiReduction_t reduction, const Focus& focus) {
    cuda::gradients(gradient_tensor, incoming_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction,
                    cuda::Focal{focus});
}

}  // namespace diopi::cpu
