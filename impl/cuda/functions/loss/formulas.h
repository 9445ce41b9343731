// The losses of one element, and their slopes.
#ifndef DIOPI_CUDA_LOSS_FORMULAS_H_
#define DIOPI_CUDA_LOSS_FORMULAS_H_

#include "diopi_core/math.h"
#include "diopi_cuda/group.h"
#include "loss/focus.h"

namespace diopigen::cuda {

// A formula is a loss and its slope in the type T of what one element has: the input, the target, its weight and that
// of the positive label.
struct Mse {
    template <typename T>
    DIOPI_DEVICE T loss(T x, T y, T, T) const {
        return (x - y) * (x - y);
    }
    template <typename T>
    DIOPI_DEVICE T slope(T x, T y, T, T) const {
        return T(2) * (x - y);
    }
};

struct SmoothL1 {
    double beta;
    template <typename T>
    DIOPI_DEVICE T loss(T x, T y, T, T) const {
        const T distance = core::numeric::abs(x - y);
        const T edge = static_cast<T>(beta);
        return distance < edge ? T(0.5) * distance * distance / edge : distance - T(0.5) * edge;
    }
    template <typename T>
    DIOPI_DEVICE T slope(T x, T y, T, T) const {
        const T difference = x - y;
        const T edge = static_cast<T>(beta);
        return difference <= -edge ? T(-1) : difference >= edge ? T(1) : difference / edge;
    }
};

// A maximum that keeps NaN.
template <typename T>
DIOPI_DEVICE T at_least(T least, T x) {
    return x < least ? least : x;
}

// Logarithms are cut off at -100, and their slope where the variance is below 1e-12, as in PyTorch.
struct Bce {
    template <typename T>
    DIOPI_DEVICE T loss(T x, T y, T weight, T) const {
        const T hit = at_least(T(-100), core::numeric::log(x));
        const T miss = at_least(T(-100), core::numeric::log1p(-x));
        return ((y - 1) * miss - y * hit) * weight;
    }
    template <typename T>
    DIOPI_DEVICE T slope(T x, T y, T weight, T) const {
        return (x - y) / at_least(T(1e-12), (1 - x) * x) * weight;
    }
};

// What the logistic function makes of a logit x: the probabilities of a positive label and of a negative one, and their
// negated logarithms.
template <typename T>
struct Odds {
    T p;
    T q;
    T not_p;  // log(1 + exp(-x))
    T not_q;  // log(1 + exp(x))

    DIOPI_DEVICE explicit Odds(T x) {
        const T small = core::numeric::exp(-core::numeric::abs(x));
        const T inverse = T(1) / (1 + small);
        const T least = core::numeric::log1p(small);
        p = x < 0 ? small * inverse : inverse;
        q = x < 0 ? inverse : small * inverse;
        not_p = least + (x < 0 ? -x : x > 0 ? T(0) : x);
        not_q = least + (x > 0 ? x : x < 0 ? T(0) : x);
    }
};

struct Logits {
    template <typename T>
    DIOPI_DEVICE T loss(T x, T y, T weight, T positive) const {
        const Odds<T> odds(x);
        return (positive * y * odds.not_p + (1 - y) * odds.not_q) * weight;
    }
    template <typename T>
    DIOPI_DEVICE T slope(T x, T y, T weight, T positive) const {
        const Odds<T> odds(x);
        return ((1 - y) * odds.p - positive * y * odds.q) * weight;
    }
};

struct Focal {
    core::Focus focus;

    template <typename T>
    DIOPI_DEVICE T loss(T x, T y, T, T) const {
        const Odds<T> odds(x);
        const T entropy = y * odds.not_p + (1 - y) * odds.not_q;
        return weight(y) * entropy * power(y * odds.q + (1 - y) * odds.p, T(0));
    }
    template <typename T>
    DIOPI_DEVICE T slope(T x, T y, T, T) const {
        const Odds<T> odds(x);
        const T wrong = y * odds.q + (1 - y) * odds.p;
        T result = ((1 - y) * odds.p - y * odds.q) * power(wrong, T(0));
        // Of a probability that is 0 in T nothing is left, also where its power is infinite.
        if (focus.gamma != 0 && wrong != 0) {
            const T entropy = y * odds.not_p + (1 - y) * odds.not_q;
            const T gamma = static_cast<T>(focus.gamma);
            result += entropy * gamma * power(wrong, T(1)) * odds.p * odds.q * (1 - 2 * y);
        }
        return weight(y) * result;
    }

  private:
    template <typename T>
    DIOPI_DEVICE T weight(T y) const {
        const T alpha = static_cast<T>(focus.alpha);
        return alpha < 0 ? T(1) : alpha * y + (1 - alpha) * (1 - y);
    }
    // wrong to the power of gamma - less; 2, the usual gamma, without a logarithm.
    template <typename T>
    DIOPI_DEVICE T power(T wrong, T less) const {
        const T gamma = static_cast<T>(focus.gamma);
        return gamma == 2 ? (less == 0 ? wrong * wrong : wrong) : core::numeric::pow(wrong, gamma - less);
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_LOSS_FORMULAS_H_
