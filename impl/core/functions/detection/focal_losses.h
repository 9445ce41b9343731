// The focal losses of detectors and their derivatives (Lin et al., 2017), for the libraries of all devices. `Each` is
// how a library calls an object for all owners of results: each(count, cost, body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_FOCAL_LOSSES_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_FOCAL_LOSSES_H_

#include <limits>

#include "detection.h"
#include "diopi_core/dense.h"
#include "diopi_core/kernel_checks.h"
#include "indexing/positions.h"
#include "loss/focus.h"

namespace diopigen::core {

// The logarithm of a probability that counts as the smallest normal float at least.
DIOPI_HOST_DEVICE inline double bounded_log(double p) {
    constexpr double kSmallest = 1.1754943508222875e-38;
    return vector_math::log(p < kSmallest ? kSmallest : p);
}

// The logarithm of logistic(x) with that bound, exact where the probability is near 1.
DIOPI_HOST_DEVICE inline double bounded_log_logistic(double x) {
    constexpr double kLogOfSmallest = -87.33654475055310898657;
    const double log = -softplus(-x);
    return log < kLogOfSmallest ? kLogOfSmallest : log;
}

// What all of them share: the class of each sample, and a factor by class; null for 1.
struct Weighted {
    const Int64* target;
    const double* weight;
    int64_t classes;
    double gamma;
    double alpha;

    DIOPI_HOST_DEVICE double factor(int64_t sample) const {
        return weight == nullptr ? 1 : weight[target[sample].value];
    }
};

// Rows of scores by sample: those of the class of the sample, and the others by the sign of what is to be large.
template <typename Value>
struct SigmoidFocal {
    double* to;
    const double* from;
    Weighted by;

    struct Row {
        double* to;
        const double* from;
        int64_t label;
        double of_label;
        double of_others;
        double gamma;

        DIOPI_HOST_DEVICE void operator()(int64_t i) const {
            const double x = i == label ? from[i] : -from[i];
            to[i] = (i == label ? of_label : of_others) * Value::of(x, gamma);
        }
    };

    DIOPI_HOST_DEVICE Row row(int64_t sample) const {
        const int64_t first = sample * by.classes;
        const double factor = by.factor(sample);
        return {
            to + first, from + first, by.target[sample].value, by.alpha * factor, Value::of_others(by.alpha) * factor,
            by.gamma};
    }
};

struct FocalLoss {
    DIOPI_HOST_DEVICE static double of(double x, double gamma) {
        return -vector_math::pow(logistic(-x), gamma) * bounded_log_logistic(x);
    }
    DIOPI_HOST_DEVICE static double of_others(double alpha) { return 1 - alpha; }
};

struct FocalSlope {
    DIOPI_HOST_DEVICE static double of(double x, double gamma) {
        const double miss = logistic(-x);
        return -vector_math::pow(miss, gamma) * (miss - gamma * logistic(x) * bounded_log_logistic(x));
    }
    DIOPI_HOST_DEVICE static double of_others(double alpha) { return alpha - 1; }
};

// An owner for each sample.
struct SoftmaxFocalLoss {
    double* to;
    const double* from;
    Weighted by;

    DIOPI_HOST_DEVICE void operator()(int64_t sample) const {
        const int64_t label = by.target[sample].value;
        if (label < 0) {
            to[sample] = 0;
            return;
        }
        const double p = from[sample * by.classes + label];
        to[sample] = -by.alpha * vector_math::pow(1 - p, by.gamma) * bounded_log(p) * by.factor(sample);
    }
};

// An owner for each sample and class.
struct SoftmaxFocalSlope {
    double* to;
    const double* from;
    Weighted by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t sample = at / by.classes;
        const int64_t label = by.target[sample].value;
        if (label < 0) {
            to[at] = 0;
            return;
        }
        const double p = from[sample * by.classes + label];
        double slope = -vector_math::pow(1 - p, by.gamma);
        if (by.gamma != 0 && p < 1) {  // at p = 1 the logarithm is 0, whatever the power
            slope += by.gamma * vector_math::pow(1 - p, by.gamma - 1) * p * bounded_log(p);
        }
        const double share = (at % by.classes == label ? 1.0 : 0.0) - from[at];
        to[at] = by.alpha * slope * share * by.factor(sample);
    }
};

// Losses or slopes of scores [samples, classes]. A class is in [least, end).
template <typename Body, typename Launch>
void focal(const Launch& launch, const Tensor& out, const Tensor& scores, const Tensor& target, const Tensor& weight,
           int64_t least, int64_t end, float gamma, float alpha) {
    require_apart(out, {&scores, &target, &weight});
    const Input<Int64> labels(target);
    check_positions(target, labels, least, end);
    const Input<double> from(scores);
    const Input<double> factors(weight);
    const Output<double> to(out);
    launch(Body{to.data(), from.data(),
                Weighted{labels.data(), weight.numel == 0 ? nullptr : factors.data(), scores.shape[1], gamma, alpha}});
    to.store();
}

// The number of classes stands for the background, which has no weight.
template <typename Body, typename Args, typename Each>
void sigmoid_focal(const Each& each, const Tensor& out, const Args& args) {
    const int64_t end = args.input.shape[1] + (args.weight.numel == 0 ? 1 : 0);
    const auto by_row = [&](const Body& body) { each.rows(args.input.shape[0], args.input.shape[1], 64, body); };
    focal<Body>(by_row, out, args.input, args.target, args.weight, 0, end, args.gamma, args.alpha);
}

template <typename Body, typename Args, typename Each>
void softmax_focal(const Each& each, const Tensor& out, const Args& args) {
    const auto by_result = [&](const Body& body) { each(out.numel, 64, body); };
    focal<Body>(by_result, out, args.softmax, args.target, args.weight, std::numeric_limits<int64_t>::min(),
                args.softmax.shape[1], args.gamma, args.alpha);
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_FOCAL_LOSSES_H_
