// Softmax, its logarithm and their gradients, of rows and of columns of float or double. The result may be the operand
// itself.
#ifndef DIOPI_CPU_SOFTMAX_ROWS_H_
#define DIOPI_CPU_SOFTMAX_ROWS_H_

#include <algorithm>
#include <cmath>

#include "diopi_core/clones.h"
#include "diopi_core/raw_elements.h"
#include "diopi_core/vector_math.h"
#include "diopi_cpu/rows.h"

namespace diopigen::cpu {

using namespace core;

// A double as two T: the nearest one and what it lacks. To subtract both loses no digits where the nearest one is
// close.
template <typename T>
struct Halves {
    T high = 0;
    T low = 0;

    Halves() = default;
    explicit Halves(double value)
        : high(static_cast<T>(value)),
          low(std::isfinite(high) ? static_cast<T>(value - static_cast<double>(high)) : T(0)) {}
};

template <typename T>
DIOPI_CPU_INLINE T less(T value, T high, T low) {
    return (value - high) - low;
}

// exp(x - top), computed in place of `y`, and their sum.
template <typename T>
DIOPI_CPU_INLINE double exponentials(T* y, const T* x, T top, int64_t length) {
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
        y[i] = vector_math::exp(x[i] - top);
    }
    return row_sum(length, [&](int64_t i) { return y[i]; });
}

template <typename T>
DIOPI_CPU_INLINE void softmax_row(T* y, const T* x, int64_t length) {
    const T top = row_maximum(x, length);
    const T factor = static_cast<T>(1 / exponentials(y, x, top, length));
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
        y[i] *= factor;
    }
}

template <typename T>
DIOPI_CPU_INLINE void log_softmax_row(T* y, const T* x, int64_t length) {
    // The exponentials of a block at a time: the row itself may be both operand and result.
    constexpr int64_t kBlock = 1024;
    T block[kBlock];
    const T top = row_maximum(x, length);
    double sum = 0;
    for (int64_t i = 0; i < length; i += kBlock) {
        sum += exponentials(block, x + i, top, std::min(kBlock, length - i));
    }
    const Halves<T> shift(std::log(sum));
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
        y[i] = less(x[i] - top, shift.high, shift.low);
    }
}

template <typename T>
DIOPI_CPU_INLINE void softmax_gradient_row(T* result, const T* grad, const T* y, int64_t length) {
    const Halves<T> sum(row_sum(length, [&](int64_t i) { return grad[i] * y[i]; }));
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
        result[i] = less(grad[i], sum.high, sum.low) * y[i];
    }
}

template <typename T>
DIOPI_CPU_INLINE void log_softmax_gradient_row(T* result, const T* grad, const T* y, int64_t length) {
    // Probabilities are no nearer than this: to multiply them in double would add nothing.
    const auto sum = static_cast<T>(row_sum(length, [&](int64_t i) { return grad[i]; }));
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) {
        result[i] = grad[i] - vector_math::exp(y[i]) * sum;
    }
}

// Contiguous columns: every operation is done for all of them at once. At most kSoftmaxWidth.
constexpr int64_t kSoftmaxWidth = 256;

template <typename T>
DIOPI_CPU_INLINE void column_maxima(T* tops, const T* x, int64_t stride, int64_t size, int64_t width) {
    std::copy_n(x, width, tops);
    for (int64_t i = 1; i < size; ++i) {
        for (int64_t k = 0; k < width; ++k) {
            tops[k] = larger(tops[k], x[i * stride + k]);
        }
    }
}

template <typename T>
struct ColumnHalves {
    T high[kSoftmaxWidth];
    T low[kSoftmaxWidth];

    DIOPI_CPU_INLINE ColumnHalves(const double* sums, int64_t width) {
        for (int64_t k = 0; k < width; ++k) {
            const Halves<T> one(sums[k]);
            high[k] = one.high;
            low[k] = one.low;
        }
    }
};

struct Softmax {
    template <typename T>
    DIOPI_CPU_CLONES static void rows(T* y, const T* x, const T*, int64_t length, int64_t count) {
        for (int64_t row = 0; row < count; ++row) {
            softmax_row(y + row * length, x + row * length, length);
        }
    }
    template <typename T>
    DIOPI_CPU_CLONES static void columns(T* y, const T* x, const T*, int64_t stride, int64_t size, int64_t width) {
        T tops[kSoftmaxWidth];
        double sums[kSoftmaxWidth] = {};
        column_maxima(tops, x, stride, size, width);
        for (int64_t i = 0; i < size; ++i) {
            DIOPI_CPU_INDEPENDENT
            for (int64_t k = 0; k < width; ++k) {
                const T value = vector_math::exp(x[i * stride + k] - tops[k]);
                y[i * stride + k] = value;
                sums[k] += static_cast<double>(value);
            }
        }
        T factors[kSoftmaxWidth];
        for (int64_t k = 0; k < width; ++k) {
            factors[k] = static_cast<T>(1 / sums[k]);
        }
        for (int64_t i = 0; i < size; ++i) {
            DIOPI_CPU_INDEPENDENT
            for (int64_t k = 0; k < width; ++k) {
                y[i * stride + k] *= factors[k];
            }
        }
    }
};

struct LogSoftmax {
    template <typename T>
    DIOPI_CPU_CLONES static void rows(T* y, const T* x, const T*, int64_t length, int64_t count) {
        for (int64_t row = 0; row < count; ++row) {
            log_softmax_row(y + row * length, x + row * length, length);
        }
    }
    template <typename T>
    DIOPI_CPU_CLONES static void columns(T* y, const T* x, const T*, int64_t stride, int64_t size, int64_t width) {
        T tops[kSoftmaxWidth];
        double sums[kSoftmaxWidth] = {};
        column_maxima(tops, x, stride, size, width);
        for (int64_t i = 0; i < size; ++i) {
            for (int64_t k = 0; k < width; ++k) {
                sums[k] += static_cast<double>(vector_math::exp(x[i * stride + k] - tops[k]));
            }
        }
        for (int64_t k = 0; k < width; ++k) {
            sums[k] = std::log(sums[k]);
        }
        const ColumnHalves<T> shifts(sums, width);
        for (int64_t i = 0; i < size; ++i) {
            DIOPI_CPU_INDEPENDENT
            for (int64_t k = 0; k < width; ++k) {
                y[i * stride + k] = less(x[i * stride + k] - tops[k], shifts.high[k], shifts.low[k]);
            }
        }
    }
};

struct SoftmaxGradient {
    template <typename T>
    DIOPI_CPU_CLONES static void rows(T* result, const T* grad, const T* y, int64_t length, int64_t count) {
        for (int64_t row = 0; row < count; ++row) {
            softmax_gradient_row(result + row * length, grad + row * length, y + row * length, length);
        }
    }
    template <typename T>
    DIOPI_CPU_CLONES static void columns(T* result, const T* grad, const T* y, int64_t stride, int64_t size,
                                         int64_t width) {
        double sums[kSoftmaxWidth] = {};
        for (int64_t i = 0; i < size; ++i) {
            for (int64_t k = 0; k < width; ++k) {
                sums[k] += static_cast<double>(grad[i * stride + k] * y[i * stride + k]);
            }
        }
        const ColumnHalves<T> halves(sums, width);
        for (int64_t i = 0; i < size; ++i) {
            DIOPI_CPU_INDEPENDENT
            for (int64_t k = 0; k < width; ++k) {
                result[i * stride + k] = less(grad[i * stride + k], halves.high[k], halves.low[k]) * y[i * stride + k];
            }
        }
    }
};

struct LogSoftmaxGradient {
    template <typename T>
    DIOPI_CPU_CLONES static void rows(T* result, const T* grad, const T* y, int64_t length, int64_t count) {
        for (int64_t row = 0; row < count; ++row) {
            log_softmax_gradient_row(result + row * length, grad + row * length, y + row * length, length);
        }
    }
    template <typename T>
    DIOPI_CPU_CLONES static void columns(T* result, const T* grad, const T* y, int64_t stride, int64_t size,
                                         int64_t width) {
        double sums[kSoftmaxWidth] = {};
        for (int64_t i = 0; i < size; ++i) {
            for (int64_t k = 0; k < width; ++k) {
                sums[k] += static_cast<double>(grad[i * stride + k]);
            }
        }
        for (int64_t i = 0; i < size; ++i) {
            DIOPI_CPU_INDEPENDENT
            for (int64_t k = 0; k < width; ++k) {
                result[i * stride + k] =
                    grad[i * stride + k] - vector_math::exp(y[i * stride + k]) * static_cast<T>(sums[k]);
            }
        }
    }
};

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_SOFTMAX_ROWS_H_
