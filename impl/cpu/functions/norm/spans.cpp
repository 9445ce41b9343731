#include "norm/spans.h"

#include "diopi_core/clones.h"

namespace diopigen::core::spans {

namespace {

constexpr int kLanes = 32;  // running sums that do not wait for each other

double total(const double* lanes) {
    double sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        sum += lanes[lane];
    }
    return sum;
}

// The loops themselves: inlined into functions that are compiled for several instruction sets.
template <typename T>
inline __attribute__((always_inline)) double sum_of(const T* x, int64_t count) {
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += static_cast<double>(x[i + lane]);
        }
    }
    for (int lane = 0; i < count; ++i, ++lane) {
        lanes[lane] += static_cast<double>(x[i]);
    }
    return total(lanes);
}

template <typename T>
inline __attribute__((always_inline)) double squares_of(const T* x, int64_t count, double mean) {
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            const double distance = static_cast<double>(x[i + lane]) - mean;
            lanes[lane] += distance * distance;
        }
    }
    for (int lane = 0; i < count; ++i, ++lane) {
        const double distance = static_cast<double>(x[i]) - mean;
        lanes[lane] += distance * distance;
    }
    return total(lanes);
}

template <bool weighted, typename T>
inline __attribute__((always_inline)) Sums products_of(const T* g, const T* weight, const T* x, int64_t count,
                                                       double mean) {
    double own[kLanes] = {};
    double product[kLanes] = {};
    const auto add = [&](int lane, int64_t at) {
        const double value =
            weighted ? static_cast<double>(g[at]) * static_cast<double>(weight[at]) : static_cast<double>(g[at]);
        own[lane] += value;
        product[lane] += value * (static_cast<double>(x[at]) - mean);
    };
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            add(lane, i + lane);
        }
    }
    for (int lane = 0; i < count; ++i, ++lane) {
        add(lane, i);
    }
    return {total(own), total(product)};
}

template <bool scales, bool shifts, typename T>
inline __attribute__((always_inline)) void normalise_all(const T* x, T* y, int64_t count, double mean, double factor,
                                                         const T* scale, const T* shift) {
    for (int64_t i = 0; i < count; ++i) {
        double value = (static_cast<double>(x[i]) - mean) * factor;
        if constexpr (scales) {
            value *= static_cast<double>(scale[i]);
        }
        if constexpr (shifts) {
            value += static_cast<double>(shift[i]);
        }
        y[i] = static_cast<T>(value);
    }
}

template <bool weighted, typename T>
inline __attribute__((always_inline)) void gradient_all(const T* g, const T* weight, const T* x, T* result,
                                                        int64_t count, double mean, double factor, double own,
                                                        double slope) {
    for (int64_t i = 0; i < count; ++i) {
        const double value =
            weighted ? static_cast<double>(g[i]) * static_cast<double>(weight[i]) : static_cast<double>(g[i]);
        result[i] = static_cast<T>(factor * (value - (own + (static_cast<double>(x[i]) - mean) * slope)));
    }
}

}  // namespace

#define DIOPI_CPU_SPANS(T)                                                                                         \
    template <>                                                                                                    \
    DIOPI_CPU_CLONES double sum(const T* x, int64_t count) {                                                       \
        return sum_of(x, count);                                                                                   \
    }                                                                                                              \
    template <>                                                                                                    \
    DIOPI_CPU_CLONES double squares(const T* x, int64_t count, double mean) {                                      \
        return squares_of(x, count, mean);                                                                         \
    }                                                                                                              \
    template <>                                                                                                    \
    DIOPI_CPU_CLONES Sums products(const T* g, const T* weight, const T* x, int64_t count, double mean) {          \
        return weight != nullptr ? products_of<true>(g, weight, x, count, mean)                                    \
                                 : products_of<false>(g, weight, x, count, mean);                                  \
    }                                                                                                              \
    template <>                                                                                                    \
    DIOPI_CPU_CLONES void normalise(const T* x, T* y, int64_t count, double mean, double factor, const T* scale,   \
                                    const T* shift) {                                                              \
        if (scale != nullptr && shift != nullptr) {                                                                \
            normalise_all<true, true>(x, y, count, mean, factor, scale, shift);                                    \
        } else if (scale != nullptr) {                                                                             \
            normalise_all<true, false>(x, y, count, mean, factor, scale, shift);                                   \
        } else if (shift != nullptr) {                                                                             \
            normalise_all<false, true>(x, y, count, mean, factor, scale, shift);                                   \
        } else {                                                                                                   \
            normalise_all<false, false>(x, y, count, mean, factor, scale, shift);                                  \
        }                                                                                                          \
    }                                                                                                              \
    template <>                                                                                                    \
    DIOPI_CPU_CLONES void scale(const T* x, T* y, int64_t count, double mean, double factor, double offset) {      \
        for (int64_t i = 0; i < count; ++i) {                                                                      \
            y[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * factor + offset);                           \
        }                                                                                                          \
    }                                                                                                              \
    template <>                                                                                                    \
    DIOPI_CPU_CLONES void gradient(const T* g, const T* weight, const T* x, T* result, int64_t count, double mean, \
                                   double factor, double own, double slope) {                                      \
        if (weight != nullptr) {                                                                                   \
            gradient_all<true>(g, weight, x, result, count, mean, factor, own, slope);                             \
        } else {                                                                                                   \
            gradient_all<false>(g, weight, x, result, count, mean, factor, own, slope);                            \
        }                                                                                                          \
    }                                                                                                              \
    template <>                                                                                                    \
    DIOPI_CPU_CLONES void gradient_scaled(const T* g, double weight, const T* x, T* result, int64_t count,         \
                                          double mean, double factor, double own, double slope) {                  \
        for (int64_t i = 0; i < count; ++i) {                                                                      \
            const double value = static_cast<double>(g[i]) * weight;                                               \
            result[i] = static_cast<T>(factor * (value - (own + (static_cast<double>(x[i]) - mean) * slope)));     \
        }                                                                                                          \
    }                                                                                                              \
    template <>                                                                                                    \
    DIOPI_CPU_CLONES void add_columns(const T* g, const T* x, int64_t count, double mean, double factor,           \
                                      double* products, double* sums) {                                            \
        for (int64_t i = 0; i < count; ++i) {                                                                      \
            const auto own = static_cast<double>(g[i]);                                                            \
            products[i] += own * (static_cast<double>(x[i]) - mean) * factor;                                      \
            sums[i] += own;                                                                                        \
        }                                                                                                          \
    }
DIOPI_CPU_SPANS(float)
DIOPI_CPU_SPANS(double)
#undef DIOPI_CPU_SPANS

}  // namespace diopigen::core::spans
