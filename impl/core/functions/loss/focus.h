// The focal loss of one element (Lin et al., 2017).
#ifndef DIOPI_CORE_FOCUS_H_
#define DIOPI_CORE_FOCUS_H_

#include "diopi_core/transcendental.h"

namespace diopigen::core {

// log(1 + exp(x)) without overflow.
DIOPI_HOST_DEVICE inline double softplus(double x) {
    return (x < 0 ? 0 : x) + vector_math::log1p(vector_math::exp(-numeric::abs(x)));
}

DIOPI_HOST_DEVICE inline double logistic(double x) {
    const double small = vector_math::exp(-numeric::abs(x));
    return (x < 0 ? small : 1.0) / (1 + small);
}

struct Focus {
    double alpha;
    double gamma;

    // The weight of a label: alpha for positive ones, 1 - alpha for negative ones, 1 for both where alpha is negative.
    DIOPI_HOST_DEVICE double weight(double label) const {
        return alpha < 0 ? 1 : alpha * label + (1 - alpha) * (1 - label);
    }

    DIOPI_HOST_DEVICE static double entropy(double logit, double label) {
        return label * softplus(-logit) + (1 - label) * softplus(logit);
    }
    // The probability of the wrong label.
    DIOPI_HOST_DEVICE static double miss(double logit, double label) {
        return label * logistic(-logit) + (1 - label) * logistic(logit);
    }

    DIOPI_HOST_DEVICE double loss(double logit, double label) const {
        return weight(label) * entropy(logit, label) * numeric::pow(miss(logit, label), gamma);
    }
    DIOPI_HOST_DEVICE double slope(double logit, double label) const {
        const double p = logistic(logit);
        const double q = logistic(-logit);
        const double wrong = miss(logit, label);
        double result = ((1 - label) * p - label * q) * numeric::pow(wrong, gamma);
        if (gamma != 0) {
            result += entropy(logit, label) * gamma * numeric::pow(wrong, gamma - 1) * p * q * (1 - 2 * label);
        }
        return weight(label) * result;
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FOCUS_H_
