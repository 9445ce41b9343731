// The cross entropy of one sample, and its gradient.
#ifndef DIOPI_CUDA_LOSS_ENTROPY_H_
#define DIOPI_CUDA_LOSS_ENTROPY_H_

#include "../activation/softmax.h"
#include "samples.h"

namespace diopigen::cuda {

// With fewer contiguous classes a thread takes a sample, else a group.
constexpr int64_t kFewClasses = 64;

template <typename S>
struct Entropy {
    using T = Computed<S>;

    Sizes sizes;
    const S* logits;
    Targets<S> targets;
    const S* probabilities;  // null where there are indices
    double keep;             // the part of the target that is not smoothed
    double spread;           // what smoothing gives each class
    const Exponentials* sums;

    bool is_simple() const { return targets.indices != nullptr && spread == 0; }
    bool by_groups() const { return sizes.inner == 1 && sizes.classes >= kFewClasses; }

    DIOPI_DEVICE double logit(int64_t at) const { return static_cast<double>(static_cast<T>(logits[at])); }
    // What the negated log-probability of class c, whose logit is at `at`, is multiplied by in the loss of sample i.
    DIOPI_DEVICE double factor(int64_t i, int64_t c, int64_t at) const {
        const double own = targets.indices != nullptr ? (targets.indices[i].value == c ? 1.0 : 0.0)
                                                      : static_cast<double>(static_cast<T>(probabilities[at]));
        return (keep * own + spread) * targets.weight(c);
    }
};

// The loss of a sample from the logit of its class.
template <typename S>
struct SimpleLoss {
    Entropy<S> entropy;

    DIOPI_DEVICE Weighed operator()(int64_t i) const {
        const double mean_weight = entropy.targets.mean_weight(i);
        // Classes that do not count are left out, so that a logit of -inf there does no harm.
        if (mean_weight == 0) {
            return {};
        }
        const int64_t c = entropy.targets.indices[i].value;
        const Exponentials& sums = entropy.sums[i];
        const double logit = entropy.logit(entropy.sizes.first(i) + c * entropy.sizes.inner);
        return {mean_weight * ((sums.top - logit) + numeric::log(sums.sum)), mean_weight};
    }
};

// From every `stride`th class of a sample, beginning with `first`: its loss, and the sum of the factors.
template <typename S>
struct FullSample {
    Entropy<S> entropy;

    DIOPI_DEVICE Weighed part(int64_t i, int64_t first, int64_t stride) const {
        const Exponentials sums = entropy.sums[i];
        const double total = numeric::log(sums.sum);
        const int64_t begin = entropy.sizes.first(i);
        Weighed own;
        for (int64_t c = first; c < entropy.sizes.classes; c += stride) {
            const int64_t at = begin + c * entropy.sizes.inner;
            const double factor = entropy.factor(i, c, at);
            own.loss += factor != 0 ? factor * ((sums.top - entropy.logit(at)) + total) : 0.0;
            own.mean_weight += factor;
        }
        return own;
    }
};

// The same for all samples: losses and sums of factors.
template <typename S>
void full_samples(const Entropy<S>& entropy, double* losses, double* factors) {
    const FullSample<S> sample{entropy};
    if (entropy.by_groups()) {
        for_groups(entropy.sizes.count, threads_for(entropy.sizes.classes), 0,
                   [=] DIOPI_KERNEL(const Group& group, int64_t i) {
                       const Weighed own = group.reduce(sample.part(i, group.thread(), group.size()), JoinWeighed());
                       if (group.thread() == 0) {
                           losses[i] = own.loss;
                           factors[i] = own.mean_weight;
                       }
                   });
    } else {
        for_each(entropy.sizes.count, [=] DIOPI_KERNEL(int64_t i) {
            const Weighed own = sample.part(i, 0, 1);
            losses[i] = own.loss;
            factors[i] = own.mean_weight;
        });
    }
}

template <typename S>
struct KnownLoss {
    Targets<S> targets;
    const double* losses;
    DIOPI_DEVICE Weighed operator()(int64_t i) const {
        return {targets.counts(i) ? losses[i] : 0.0, targets.mean_weight(i)};
    }
};

// The gradient of a sample, class by class.
template <typename S>
struct SampleSlope {
    using T = Computed<S>;

    const Entropy<S>& entropy;
    int64_t i;
    bool counts;
    int64_t class_index;  // the class of a simple target, or none
    T top;
    T total;
    T factors;
    T grad_value;

    DIOPI_DEVICE SampleSlope(const Entropy<S>& source, int64_t sample, const double* sums, T grad_out)
        : entropy(source), i(sample), counts(source.targets.counts(sample)), class_index(-1), grad_value(grad_out) {
        const Exponentials own = entropy.sums[i];
        top = static_cast<T>(own.top);
        total = static_cast<T>(numeric::log(own.sum));
        if (counts && sums == nullptr) {
            class_index = entropy.targets.indices[i].value;
        }
        factors = !counts ? T(0) : static_cast<T>(sums != nullptr ? sums[i] : entropy.targets.weight(class_index));
    }
    // `at` is where the logit lies.
    DIOPI_DEVICE T operator()(T logit, int64_t c, int64_t at) const {
        if (!counts) {
            return T(0);
        }
        const T factor = class_index < 0 ? static_cast<T>(entropy.factor(i, c, at)) : c == class_index ? factors : T(0);
        return (factors * exponential<S>((logit - top) - total) - factor) * grad_value;
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_LOSS_ENTROPY_H_
