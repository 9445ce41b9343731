// Loops of the normalisations over contiguous elements, in double whatever the elements are, for the instruction sets
// that the machine may have. T is float or double. Every sum is formed in an order that follows from its length alone.
#ifndef DIOPI_CORE_SPANS_H_
#define DIOPI_CORE_SPANS_H_

#include <cstdint>

namespace diopigen::core::spans {

template <typename T>
double sum(const T* x, int64_t count);
// The sum of (x - mean)^2.
template <typename T>
double squares(const T* x, int64_t count, double mean);

struct Sums {
    double own = 0;
    double product = 0;

    Sums& operator+=(Sums other) {
        own += other.own;
        product += other.product;
        return *this;
    }
};

// The sums of g * weight and of g * weight * (x - mean). `weight` may be null for 1.
template <typename T>
Sums products(const T* g, const T* weight, const T* x, int64_t count, double mean);

// y = (x - mean) * factor * scale + shift; the first two for one span, the others for each element. Null ones are 1
// and 0.
template <typename T>
void normalise(const T* x, T* y, int64_t count, double mean, double factor, const T* scale, const T* shift);
// y = (x - mean) * factor + offset
template <typename T>
void scale(const T* x, T* y, int64_t count, double mean, double factor, double offset);

// result = factor * (g * weight - (own + (x - mean) * slope)). `weight` may be null for 1.
template <typename T>
void gradient(const T* g, const T* weight, const T* x, T* result, int64_t count, double mean, double factor, double own,
              double slope);

// The same with one weight for all of the span.
template <typename T>
void gradient_scaled(const T* g, double weight, const T* x, T* result, int64_t count, double mean, double factor,
                     double own, double slope);

// products += g * (x - mean) * factor and sums += g, element by element.
template <typename T>
void add_columns(const T* g, const T* x, int64_t count, double mean, double factor, double* products, double* sums);

}  // namespace diopigen::core::spans

#endif  // DIOPI_CORE_SPANS_H_
