// CrossEntropyLoss and its gradient: exponentials in the dtype, everything else in double. The mean over class indices
// divides by the weights of the samples that count; over class probabilities, by the number of samples. The loops.
#include <cmath>

#include "../activation/softmax_rows.h"
#include "diopi_core/reduction.h"
#include "loss/classes.h"
#include "loss/loss_kernels.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// The largest logit of a sample, and the logarithm of the sum of exponentials of the distances to it. Not their sum:
// next to a large logit the logarithm would be lost.
struct Normaliser {
    double top;
    double log_sum;
    double loss(double logit) const { return (top - logit) + log_sum; }
    double log_probability(double logit) const { return (logit - top) - log_sum; }
};

// The normaliser of a row.
template <typename T>
DIOPI_CPU_CLONES Normaliser normaliser_of(const T* x, int64_t length) {
    constexpr int64_t kBlock = 1024;
    T block[kBlock];
    const T top = row_maximum(x, length);
    double sum = 0;
    for (int64_t i = 0; i < length; i += kBlock) {
        sum += exponentials(block, x + i, top, std::min(kBlock, length - i));
    }
    return {static_cast<double>(top), std::log(sum)};
}

// The probabilities of a row times a gradient.
template <typename T>
DIOPI_CPU_CLONES void store_slopes(T* result, const T* x, const Normaliser& total, double gradient, int64_t length) {
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
        const auto logarithm = static_cast<T>(total.log_probability(static_cast<double>(x[i])));
        const auto probability = static_cast<double>(vector_math::exp(logarithm));
        result[i] = static_cast<T>(probability * gradient);
    }
}

template <typename T>
class CrossEntropy {
  public:
    explicit CrossEntropy(const CrossEntropyProblem& problem)
        : problem_(problem),
          sizes_(problem.sizes),
          logits_(problem.input),
          weights_(problem.weight),
          indices_(problem.has_indices ? problem.target : Tensor()),
          probabilities_(problem.has_indices ? Tensor() : problem.target),
          spread_(problem.label_smoothing / static_cast<double>(sizes_.classes)) {
        if (indices_) {
            check_indices(indices_, sizes_, problem.ignored, kCrossEntropyIndexRule);
        }
    }

    bool counts(int64_t i) const { return !indices_ || indices_[i].value != problem_.ignored; }
    // The weight of a sample in what the mean divides by.
    double mean_weight(int64_t i) const { return !counts(i) ? 0.0 : indices_ ? weight(indices_[i].value) : 1.0; }
    double logit(int64_t i, int64_t c) const { return logits_[sizes_.first(i) + c * sizes_.inner]; }

    // What the negated log-probability of class c is multiplied by in the loss of sample i.
    double factor(int64_t i, int64_t c) const {
        const double own = indices_ ? (indices_[i].value == c ? 1.0 : 0.0)
                                    : static_cast<double>(probabilities_[sizes_.first(i) + c * sizes_.inner]);
        return ((1 - problem_.label_smoothing) * own + spread_) * weight(c);
    }

    Normaliser normaliser(int64_t i) const {
        if (sizes_.inner == 1 && sizes_.classes > 0) {
            return normaliser_of(logits_.data() + i * sizes_.classes, sizes_.classes);
        }
        double top = -HUGE_VAL;
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            const double value = logit(i, c);
            top = value > top || std::isnan(value) ? value : top;
        }
        double sum = 0;
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            sum += std::exp(logit(i, c) - top);
        }
        return {top, std::log(sum)};
    }

    double loss(int64_t i) const {
        const Normaliser total = normaliser(i);
        if (indices_ && spread_ == 0) {
            const int64_t own = indices_[i].value;
            return weight(own) == 0 ? 0.0 : weight(own) * total.loss(logit(i, own));
        }
        double result = 0;
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            // Classes that do not count are left out, so that a logit of -inf there does no harm.
            const double own = factor(i, c);
            result += own != 0 ? own * total.loss(logit(i, c)) : 0.0;
        }
        return result;
    }

    // Writes the gradient of the sample's loss times `grad_out`.
    void gradient(int64_t i, double grad_out, T* result) const {
        const Normaliser total = normaliser(i);
        if (indices_ && spread_ == 0 && sizes_.inner == 1) {
            const double own = weight(indices_[i].value) * grad_out;
            const int64_t first = i * sizes_.classes;
            const int64_t at = first + indices_[i].value;
            store_slopes(result + first, logits_.data() + first, total, own, sizes_.classes);
            result[at] = static_cast<T>((std::exp(total.log_probability(static_cast<double>(logits_[at]))) - 1) * own);
            return;
        }
        double factors = 0;
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            factors += factor(i, c);
        }
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            const double slope = factors * std::exp(total.log_probability(logit(i, c))) - factor(i, c);
            result[sizes_.first(i) + c * sizes_.inner] = static_cast<T>(slope * grad_out);
        }
    }

    void no_gradient(int64_t i, T* result) const {
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            result[sizes_.first(i) + c * sizes_.inner] = 0;
        }
    }

  private:
    double weight(int64_t c) const { return weights_ ? static_cast<double>(weights_[c]) : 1.0; }

    const CrossEntropyProblem& problem_;
    const Classes& sizes_;
    Input<T> logits_;
    Input<T> weights_;
    Input<Int64> indices_;
    Input<T> probabilities_;
    double spread_;
};

}  // namespace

void cross_entropy_losses(const Tensor& out_tensor, const CrossEntropyProblem& problem) {
    const Classes& sizes = problem.sizes;
    const diopiReduction_t reduction = problem.reduction;
    dispatch_compute<kFloating>(problem.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const CrossEntropy<T> entropy(problem);
        const Output<T> result(out_tensor);
        reduce_samples(result, sizes.count(), row_grain(8 * sizes.classes), reduction, [&](int64_t i) {
            return entropy.counts(i) ? Weighed{entropy.loss(i), entropy.mean_weight(i)} : Weighed();
        });
        result.store();
    });
}

void cross_entropy_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor,
                             const CrossEntropyProblem& problem) {
    const Classes& sizes = problem.sizes;
    const diopiReduction_t reduction = problem.reduction;
    dispatch_compute<kFloating>(problem.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const CrossEntropy<T> entropy(problem);
        const View grad_out_view = expanded(grad_out_tensor, sizes.without);
        const Input<T> grad_out(grad_out_view.tensor());
        const Output<T> result(gradient_tensor);
        double divisor = 1;
        if (reduction == ReductionMean) {
            divisor = 0;
            for (int64_t i = 0; i < sizes.count(); ++i) {
                divisor += entropy.mean_weight(i);
            }
        }
        parallel_for(sizes.count(), row_grain(8 * sizes.classes), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                if (entropy.counts(i)) {
                    entropy.gradient(i, grad_out[i] / divisor, result.data());
                } else {
                    entropy.no_gradient(i, result.data());
                }
            }
        });
        result.store();
    });
}

}  // namespace diopigen::core
