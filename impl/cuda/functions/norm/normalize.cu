// Normalize and its gradient: a row over its p-norm, each by one group.
#include "diopi_core/cast.h"
#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "diopi_cuda/aligned_vector.h"
#include "norm/norm_kernels.h"

namespace diopigen::cuda {

namespace {

template <typename S>
DIOPI_DEVICE inline double value_of(S x) {
    return static_cast<double>(static_cast<Computed<S>>(x));
}

template <typename S>
struct RowNorm {
    int64_t length;
    double p;

    // The p-norm of a row; NaN where an element is.
    DIOPI_DEVICE double operator()(const Group& group, const S* x) const {
        const bool is_infinite = numeric::isinf(p);
        double state = is_infinite && p < 0 && length > 0 ? std::numeric_limits<double>::infinity() : 0;
        for (int64_t i = group.thread(); i < length; i += group.size()) {
            const double size = numeric::abs(value_of(x[i]));
            if (is_infinite) {
                state = p > 0 ? maximum(state, size) : minimum(state, size);
            } else {
                state += p == 2 ? size * size : p == 1 ? size : p == 0 ? (size != 0 ? 1.0 : 0.0) : power(size, p);
            }
        }
        if (is_infinite) {
            const bool is_largest = p > 0;
            return group.reduce(state, [=](double a, double b) { return is_largest ? maximum(a, b) : minimum(a, b); });
        }
        const double sum = group.sum(state);
        return p == 2 ? numeric::sqrt(sum) : p == 1 || p == 0 ? sum : power(sum, 1 / p);
    }
};

// The derivative of the norm with respect to an element; 0 where the norm has a corner. `ties` counts the elements that
// an infinite exponent chooses.
DIOPI_DEVICE double norm_slope(double x, double norm, double p, double ties) {
    const double direction = x > 0 ? 1 : x < 0 ? -1 : x;
    if (p == 0 || norm == 0 || x == 0) {
        return isnan(x) ? x : 0;
    }
    if (numeric::isinf(p)) {
        return numeric::abs(x) == norm ? direction / ties : isnan(norm) ? norm : 0;
    }
    return p == 1 ? direction : p == 2 ? x / norm : direction * power(numeric::abs(x) / norm, p - 1);
}

template <typename S>
void divide_rows(S* y, const S* x, int64_t rows, int64_t length, double p, double eps) {
    const RowNorm<S> row_norm{length, p};
    for_groups(rows, threads_for(length), 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        const double norm = row_norm(group, x + row * length);
        const double inverse_norm = 1 / (norm < eps ? eps : norm);
        for (int64_t i = row * length + group.thread(); i < (row + 1) * length; i += group.size()) {
            y[i] = cast<S>(value_of(x[i]) * inverse_norm);
        }
    });
}

template <typename S>
void divided_gradients(S* gradient, const S* grad_out, const S* x, int64_t rows, int64_t length, double p, double eps) {
    const RowNorm<S> row_norm{length, p};
    for_groups(rows, threads_for(length), 0, [=] DIOPI_KERNEL(Group & group, int64_t row) {
        const double norm = row_norm(group, x + row * length);
        const double inverse_norm = 1 / (norm < eps ? eps : norm);
        double product = 0;
        double ties = 0;
        for (int64_t i = row * length + group.thread(); i < (row + 1) * length; i += group.size()) {
            product += value_of(grad_out[i]) * value_of(x[i]);
            ties += numeric::abs(value_of(x[i])) == norm ? 1 : 0;
        }
        product = group.sum(product);
        ties = group.sum(ties);
        // How the divisor pulls at the result: not at all where it is eps.
        const double pull = norm < eps ? 0 : product * inverse_norm * inverse_norm;
        for (int64_t i = row * length + group.thread(); i < (row + 1) * length; i += group.size()) {
            const double slope = norm < eps ? 0 : norm_slope(value_of(x[i]), norm, p, ties);
            gradient[i] = cast<S>(value_of(grad_out[i]) * inverse_norm - pull * slope);
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void normalise_by_norm(const Tensor& to_tensor, const Tensor& from_tensor, int64_t length, double p, double eps) {
    dispatch<kFloating>(from_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(from_tensor);
        const Output<S> y(to_tensor);
        cuda::divide_rows<S>(y.data(), x.data(), length == 0 ? 0 : from_tensor.numel / length, length, p, eps);
        y.store();
    });
}

void gradients_through_norm(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                            int64_t length, double p, double eps) {
    dispatch<kFloating>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input_tensor);
        const Input<S> grad_out(grad_out_tensor);
        const Output<S> gradient(gradient_tensor);
        cuda::divided_gradients<S>(gradient.data(), grad_out.data(), x.data(),
                                   length == 0 ? 0 : input_tensor.numel / length, length, p, eps);
        gradient.store();
    });
}

}  // namespace diopigen::core
