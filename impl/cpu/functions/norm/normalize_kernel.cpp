// Normalize and its gradient: vectors along one dimension over their p-norm, in double. The loops.
#include <limits>

#include "norm/norm_kernels.h"
#include "norm/statistics.h"

namespace diopigen::core {

namespace {

// The p-norm of a vector; NaN where an element is. Exponents beyond all limits choose the largest or smallest
// magnitude.
template <typename T>
double norm_of(const T* x, int64_t length, double p) {
    if (std::isinf(p)) {
        double found = p > 0 || length == 0 ? 0 : std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < length; ++i) {
            const double size = std::abs(static_cast<double>(x[i]));
            found = (p > 0 ? size > found : size < found) || std::isnan(size) ? size : found;
            if (std::isnan(found)) {
                break;
            }
        }
        return found;
    }
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) {
        const double size = std::abs(static_cast<double>(x[i]));
        sum += p == 2 ? size * size : p == 1 ? size : p == 0 ? (size != 0 ? 1.0 : 0.0) : std::pow(size, p);
    }
    return p == 2 ? std::sqrt(sum) : p == 1 || p == 0 ? sum : std::pow(sum, 1 / p);
}

// The derivative of the norm with respect to an element; 0 where the norm has a corner, as PyTorch has it. `ties`
// counts the elements that an infinite exponent chooses.
double norm_slope(double x, double norm, double p, double ties) {
    const double sign = x > 0 ? 1 : x < 0 ? -1 : x;
    if (p == 0 || norm == 0 || x == 0) {
        return std::isnan(x) ? x : 0;
    }
    if (std::isinf(p)) {
        return std::abs(x) == norm ? sign / ties : std::isnan(norm) ? norm : 0;
    }
    return p == 1 ? sign : p == 2 ? x / norm : sign * std::pow(std::abs(x) / norm, p - 1);
}

}  // namespace

void normalise_by_norm(const Tensor& to_tensor, const Tensor& from_tensor, int64_t length, double p, double eps) {
    dispatch_compute<kFloating>(from_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(from_tensor);
        const Output<T> y(to_tensor);
        const int64_t rows = length == 0 ? 0 : from_tensor.numel / length;
        parallel_for(rows, row_grain(length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const double norm = norm_of(x.data() + row * length, length, p);
                const double divisor = norm < eps ? eps : norm;
                for (int64_t i = row * length; i < (row + 1) * length; ++i) {
                    y[i] = static_cast<T>(x[i] / divisor);
                }
            }
        });
        y.store();
    });
}

void gradients_through_norm(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                            int64_t length, double p, double eps) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> grad_out(grad_out_tensor);
        const Output<T> gradient(gradient_tensor);
        const int64_t rows = length == 0 ? 0 : input_tensor.numel / length;
        parallel_for(rows, row_grain(length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t first = row * length;
                const double norm = norm_of(x.data() + first, length, p);
                const double divisor = norm < eps ? eps : norm;
                double product = 0;
                double ties = 0;
                for (int64_t i = first; i < first + length; ++i) {
                    product += static_cast<double>(grad_out[i]) * x[i];
                    ties += std::abs(static_cast<double>(x[i])) == norm ? 1 : 0;
                }
                // How the divisor pulls at the result: not at all where it is eps.
                const double pull = norm < eps ? 0 : product / divisor / divisor;
                for (int64_t i = first; i < first + length; ++i) {
                    const double slope = norm < eps ? 0 : norm_slope(x[i], norm, p, ties);
                    gradient[i] = static_cast<T>(grad_out[i] / divisor - pull * slope);
                }
            }
        });
        gradient.store();
    });
}

}  // namespace diopigen::core
