// The losses of one element, and their slopes.
#ifndef DIOPI_CUDA_LOSS_FORMULAS_H_
#define DIOPI_CUDA_LOSS_FORMULAS_H_

#include "diopi_cpu/math.h"
#include "diopi_cuda/group.h"
#include "loss/focus.h"

namespace diopi::cuda {

// A formula is a loss and its slope in the type T of what one element has: the input, the target, its weight and that
// of the positive label. Where it is exact it is computed in double, whatever elements are stored as.
struct Mse {
    static constexpr bool kExact = false;
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
    static constexpr bool kExact = false;
    double beta;
    template <typename T>
    DIOPI_DEVICE T loss(T x, T y, T, T) const {
        const T distance = cpu::numeric::abs(x - y);
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
    static constexpr bool kExact = false;
    template <typename T>
    DIOPI_DEVICE T loss(T x, T y, T weight, T) const {
        const T hit = at_least(T(-100), cpu::numeric::log(x));
        const T miss = at_least(T(-100), cpu::numeric::log1p(-x));
        return ((y - 1) * miss - y * hit) * weight;
    }
    template <typename T>
    DIOPI_DEVICE T slope(T x, T y, T weight, T) const {
        return (x - y) / at_least(T(1e-12), (1 - x) * x) * weight;
    }
};

struct Logits {
    static constexpr bool kExact = false;
    // log(1 + exp(-size)), with softplus(x) = it + max(x, 0) and softplus(-x) = it + max(-x, 0).
    template <typename T>
    DIOPI_DEVICE T loss(T x, T y, T weight, T positive) const {
        const T small = cpu::numeric::log1p(cpu::numeric::exp(-cpu::numeric::abs(x)));
        const T above = x > 0 ? x : x < 0 ? T(0) : x;
        const T below = x < 0 ? -x : x > 0 ? T(0) : x;
        return (positive * y * (small + below) + (1 - y) * (small + above)) * weight;
    }
    template <typename T>
    DIOPI_DEVICE T slope(T x, T y, T weight, T positive) const {
        const T small = cpu::numeric::exp(-cpu::numeric::abs(x));
        const T share = T(1) / (1 + small);
        const T p = x < 0 ? small * share : share;
        const T q = x < 0 ? share : small * share;
        return ((1 - y) * p - positive * y * q) * weight;
    }
};

struct Focal {
    static constexpr bool kExact = true;
    cpu::Focus focus;
    DIOPI_DEVICE double loss(double x, double y, double, double) const { return focus.loss(x, y); }
    DIOPI_DEVICE double slope(double x, double y, double, double) const { return focus.slope(x, y); }
};

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_LOSS_FORMULAS_H_
