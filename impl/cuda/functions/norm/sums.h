// What is added up over elements that are normalised together, and what follows from it for each element.
#ifndef DIOPI_CUDA_NORM_SUMS_H_
#define DIOPI_CUDA_NORM_SUMS_H_

#include <limits>

#include "diopi_core/math.h"
#include "diopi_cuda/aligned_vector.h"
#include "diopi_cuda/parts.h"

namespace diopigen::cuda {

// How many elements there are, their mean, and the sum of the squares of their distances from it.
struct Moments {
    double count = 0;
    double mean = std::numeric_limits<double>::quiet_NaN();
    double squares = 0;

    DIOPI_DEVICE double variance() const { return squares / count; }
};

struct JoinMoments {
    DIOPI_DEVICE Moments operator()(const Moments& a, const Moments& b) const {
        if (a.count == 0 || b.count == 0) {
            return a.count == 0 ? b : a;
        }
        Moments joined;
        joined.count = a.count + b.count;
        const double distance = b.mean - a.mean;
        const double fraction = b.count / joined.count;
        // Not from the distance: an infinite mean stays one.
        joined.mean = a.mean * (a.count / joined.count) + b.mean * fraction;
        joined.squares = a.squares + b.squares + distance * distance * a.count * fraction;
        return joined;
    }
};

// What distances are taken from before the mean is known: an element of the set, or 0 in place of one that would make
// NaN of an infinite mean.
template <typename S>
DIOPI_DEVICE Computed<S> origin_of(const S& element) {
    const auto value = static_cast<Computed<S>>(element);
    return value - value == 0 ? value : Computed<S>(0);
}

// The sums of gradients g, and of g times the distance of x from the mean.
struct Sums {
    double own = 0;
    double product = 0;
};

struct JoinSums {
    DIOPI_DEVICE Sums operator()(const Sums& a, const Sums& b) const { return {a.own + b.own, a.product + b.product}; }
};

// A mean that elements of S are measured from. In two parts where one float is not enough: then distances of floats are
// as exact as those of doubles would be, rounded.
template <typename S>
struct Centre {
    using T = Computed<S>;
    T high = 0;
    T low = 0;

    Centre() = default;
    DIOPI_DEVICE explicit Centre(double mean)
        : high(static_cast<T>(mean)), low(static_cast<T>(mean - static_cast<double>(high))) {}
    DIOPI_DEVICE T distance(T x) const { return sizeof(S) == 4 ? (x - high) - low : x - high; }
};

// An element x becomes distance(x) * factor + offset.
template <typename S>
struct alignas(16) Scaling {
    Centre<S> centre;
    Computed<S> factor;
    Computed<S> offset;
};

// A gradient g at x becomes g * own + distance(x) * slope + constant.
template <typename S>
struct Slope {
    Centre<S> centre;
    Computed<S> own;
    Computed<S> slope;
    Computed<S> constant;
};

// The slope through statistics of `count` elements, whose gradients have the sums `sums`. `weight` multiplies each
// gradient, and is contained in the sums.
template <typename S>
DIOPI_DEVICE Slope<S> slope_of(double mean, double invstd, double weight, const Sums& sums, double count,
                               bool is_centred) {
    using T = Computed<S>;
    Slope<S> result;
    result.centre = Centre<S>(mean);
    result.own = static_cast<T>(invstd * weight);
    result.slope = static_cast<T>(-invstd * invstd * invstd * (sums.product / count));
    result.constant = static_cast<T>(is_centred ? -invstd * (sums.own / count) : 0.0);
    return result;
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_SUMS_H_
