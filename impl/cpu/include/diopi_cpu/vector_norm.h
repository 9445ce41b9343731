// Norms of vectors: the p-th root of the sum of the p-th powers of absolute values, and what stands for it where p is
// 0 or infinite. A reducer takes absolute values in double one by one; `finish` makes the norm of what came of it.
#ifndef DIOPI_CPU_VECTOR_NORM_H_
#define DIOPI_CPU_VECTOR_NORM_H_

#include <cmath>
#include <limits>

#include "diopi_core/cast.h"
#include "diopi_core/dense.h"
#include "diopi_core/math.h"

namespace diopigen::cpu {

using namespace core;

// The absolute value in double, without overflow on the way.
template <typename T>
double size_of_element(T x) {
    return static_cast<double>(std::abs(cast<Accumulator<T>>(x)));
}

struct NormReducer {
    double identity() const { return 0; }
    double join(double a, double b) const { return a + b; }
    double finish(double value) const { return value; }
};

struct PowerNorm : NormReducer {
    double order;
    double add(double value, double size) const { return value + std::pow(size, order); }
    double finish(double value) const { return std::pow(value, 1 / order); }
};

struct EuclideanNorm : NormReducer {
    double add(double value, double size) const { return value + size * size; }
    double finish(double value) const { return std::sqrt(value); }
};

struct AbsoluteNorm : NormReducer {
    double add(double value, double size) const { return value + size; }
};

struct CountNorm : NormReducer {
    double add(double value, double size) const { return value + (size != 0 ? 1 : 0); }
};

struct LargestNorm : NormReducer {
    double add(double value, double size) const { return maximum(value, size); }
    double join(double a, double b) const { return maximum(a, b); }
};

struct SmallestNorm : NormReducer {
    double identity() const { return std::numeric_limits<double>::infinity(); }
    double add(double value, double size) const { return minimum(value, size); }
    double join(double a, double b) const { return minimum(a, b); }
};

// Calls `body` with the reducer of an order.
template <typename Body>
void dispatch_norm(double order, Body&& body) {
    if (std::isinf(order)) {
        return order > 0 ? body(LargestNorm{}) : body(SmallestNorm{});
    }
    if (order == 0) {
        return body(CountNorm{});
    }
    if (order == 1) {
        return body(AbsoluteNorm{});
    }
    if (order == 2) {
        return body(EuclideanNorm{});
    }
    return body(PowerNorm{{}, order});
}

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_VECTOR_NORM_H_
