// CrossEntropyLoss and its gradient: exponentials in the dtype, everything else in double. The mean over class indices
// divides by the weights of the samples that count; over class probabilities, by the number of samples.
#include <diopi/functions.h>

#include <cmath>

#include "../activation/softmax_rows.h"
#include "classes.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

// What the loss is made of, checked.
struct Problem {
    Problem(const Tensor& written, const Tensor& logits, const Tensor& wanted, const Tensor& factors,
            diopiReduction_t mode, int64_t ignored_class, double smoothing)
        : input(logits),
          target(wanted),
          weight(factors),
          sizes(classes_of(input)),
          reduction(mode),
          ignored(ignored_class),
          label_smoothing(smoothing),
          has_indices(target.dtype == Dtype::kInt64) {
        require(label_smoothing >= 0 && label_smoothing <= 1, "C1: label_smoothing lies between 0 and 1");
        require(is_same_shape(target, input) || shape_of(target) == sizes.without,
                "C2: the shape of target is that of input, or that of input without its class dimension");
        if (has_indices) {
            require_shape(target, sizes.without);
        } else {
            require(is_same_shape(target, input) && target.dtype == input.dtype,
                    "C3: class probabilities have the dtype and shape of input");
            require(ignored < 0, "C4: ignore_index is negative for class probabilities");
        }
        check_classification(written, input, target, weight, sizes, reduction);
    }

    Tensor input;
    Tensor target;
    Tensor weight;
    Classes sizes;
    diopiReduction_t reduction;
    int64_t ignored;
    double label_smoothing;
    bool has_indices;
};

// The logarithm of the sum of exponentials of a row.
template <typename T>
DIOPI_CPU_CLONES double log_sum_exp(const T* x, int64_t length) {
    constexpr int64_t kBlock = 1024;
    T block[kBlock];
    const T top = row_maximum(x, length);
    double sum = 0;
    for (int64_t i = 0; i < length; i += kBlock) {
        sum += exponentials(block, x + i, top, std::min(kBlock, length - i));
    }
    return static_cast<double>(top) + std::log(sum);
}

// The probabilities of a row times a gradient.
template <typename T>
DIOPI_CPU_CLONES void share_out(T* result, const T* x, double total, double gradient, int64_t length) {
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
        const auto share = static_cast<double>(vector_math::exp(static_cast<T>(static_cast<double>(x[i]) - total)));
        result[i] = static_cast<T>(share * gradient);
    }
}

template <typename T>
class CrossEntropy {
  public:
    explicit CrossEntropy(const Problem& problem)
        : problem_(problem),
          sizes_(problem.sizes),
          logits_(problem.input),
          weights_(problem.weight),
          indices_(problem.has_indices ? problem.target : Tensor()),
          probabilities_(problem.has_indices ? Tensor() : problem.target),
          spread_(problem.label_smoothing / static_cast<double>(sizes_.classes)) {
        if (indices_) {
            check_indices(indices_, sizes_, problem.ignored,
                          "C5: every class index is ignore_index, or at least 0 and below the number of classes");
        }
    }

    bool counts(int64_t i) const { return !indices_ || indices_[i].value != problem_.ignored; }
    // The share of a sample in what the mean divides by.
    double share(int64_t i) const { return !counts(i) ? 0.0 : indices_ ? weight(indices_[i].value) : 1.0; }
    double logit(int64_t i, int64_t c) const { return logits_[sizes_.first(i) + c * sizes_.places]; }

    // What the negated log-probability of class c is multiplied by in the loss of sample i.
    double factor(int64_t i, int64_t c) const {
        const double own = indices_ ? (indices_[i].value == c ? 1.0 : 0.0)
                                    : static_cast<double>(probabilities_[sizes_.first(i) + c * sizes_.places]);
        return ((1 - problem_.label_smoothing) * own + spread_) * weight(c);
    }

    // The logarithm of the sum of exponentials of the logits.
    double normaliser(int64_t i) const {
        if (sizes_.places == 1 && sizes_.classes > 0) {
            return log_sum_exp(logits_.data() + i * sizes_.classes, sizes_.classes);
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
        return top + std::log(sum);
    }

    double loss(int64_t i) const {
        const double total = normaliser(i);
        if (indices_ && spread_ == 0) {
            const int64_t own = indices_[i].value;
            return weight(own) == 0 ? 0.0 : weight(own) * (total - logit(i, own));
        }
        double result = 0;
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            // Classes that do not count are left out, so that a logit of -inf there does no harm.
            const double own = factor(i, c);
            result -= own != 0 ? own * (logit(i, c) - total) : 0.0;
        }
        return result;
    }

    // Writes the gradient of the sample's loss times `incoming`.
    void gradient(int64_t i, double incoming, T* result) const {
        const double total = normaliser(i);
        if (indices_ && spread_ == 0 && sizes_.places == 1) {
            const double own = weight(indices_[i].value) * incoming;
            const int64_t first = i * sizes_.classes;
            const int64_t at = first + indices_[i].value;
            share_out(result + first, logits_.data() + first, total, own, sizes_.classes);
            result[at] = static_cast<T>((std::exp(static_cast<double>(logits_[at]) - total) - 1) * own);
            return;
        }
        double factors = 0;
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            factors += factor(i, c);
        }
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            const double slope = factors * std::exp(logit(i, c) - total) - factor(i, c);
            result[sizes_.first(i) + c * sizes_.places] = static_cast<T>(slope * incoming);
        }
    }

    void no_gradient(int64_t i, T* result) const {
        for (int64_t c = 0; c < sizes_.classes; ++c) {
            result[sizes_.first(i) + c * sizes_.places] = 0;
        }
    }

  private:
    double weight(int64_t c) const { return weights_ ? static_cast<double>(weights_[c]) : 1.0; }

    const Problem& problem_;
    const Classes& sizes_;
    Input<T> logits_;
    Input<T> weights_;
    Input<Int64> indices_;
    Input<T> probabilities_;
    double spread_;
};

}  // namespace

DIOPI_API diopiError_t diopiCrossEntropyLoss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                             diopiConstTensorHandle_t weight, diopiReduction_t reduction,
                                             int64_t ignore_index, double label_smoothing) {
    return guarded("diopiCrossEntropyLoss", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Problem problem(out_tensor, tensor("input", input, kFloating),
                              tensor("target", target, kInt64 | kFloating),
                              optional_tensor("weight", weight, kFloating), reduction, ignore_index, label_smoothing);
        const Classes& sizes = problem.sizes;
        require_shape(out_tensor, reduction == ReductionNone ? sizes.without : std::vector<int64_t>());
        dispatch_compute<kFloating>(problem.input.dtype, [&](auto sample) {
            using T = decltype(sample);
            const CrossEntropy<T> entropy(problem);
            const Output<T> result(out_tensor);
            reduce_samples(result, sizes.count(), row_grain(8 * sizes.classes), reduction, [&](int64_t i) {
                return entropy.counts(i) ? Weighed{entropy.loss(i), entropy.share(i)} : Weighed();
            });
            result.store();
        });
    });
}

DIOPI_API diopiError_t diopiCrossEntropyLossBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                                     diopiConstTensorHandle_t grad_output,
                                                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                                     diopiConstTensorHandle_t weight, diopiReduction_t reduction,
                                                     int64_t ignore_index, double label_smoothing) {
    return guarded("diopiCrossEntropyLossBackward", [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const Problem problem(gradient_tensor, tensor("input", input, kFloating),
                              tensor("target", target, kInt64 | kFloating),
                              optional_tensor("weight", weight, kFloating), reduction, ignore_index, label_smoothing);
        const Classes& sizes = problem.sizes;
        require_same_shape(gradient_tensor, problem.input);
        require_same_dtype(incoming_tensor, problem.input);
        require(incoming_tensor.rank == 0 || (reduction == ReductionNone && shape_of(incoming_tensor) == sizes.without),
                "C6: grad_output is 0-d, or without reduction of the shape of input without its class dimension");
        require_one_device({&gradient_tensor, &incoming_tensor});
        require_disjoint(gradient_tensor, incoming_tensor);
        dispatch_compute<kFloating>(problem.input.dtype, [&](auto sample) {
            using T = decltype(sample);
            const CrossEntropy<T> entropy(problem);
            const View incoming_view = expanded(incoming_tensor, sizes.without);
            const Input<T> incoming(incoming_view.tensor());
            const Output<T> result(gradient_tensor);
            double divisor = 1;
            if (reduction == ReductionMean) {
                divisor = 0;
                for (int64_t i = 0; i < sizes.count(); ++i) {
                    divisor += entropy.share(i);
                }
            }
            parallel_for(sizes.count(), row_grain(8 * sizes.classes), [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    if (entropy.counts(i)) {
                        entropy.gradient(i, incoming[i] / divisor, result.data());
                    } else {
                        entropy.no_gradient(i, result.data());
                    }
                }
            });
            result.store();
        });
    });
}
