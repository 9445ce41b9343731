// LayerNorm and LayerNormGB with their gradients: statistics over the trailing dimensions, in double. The loops.
#include "norm/norm_kernels.h"
#include "norm/trailing.h"

namespace diopigen::core {

void normalise_rows(const Tensor& out, const Tensor& mean, const Tensor& invstd, const Tensor& input,
                    const Tensor& weight, const Tensor& bias, const Trailing& parts, double eps) {
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Input<T> scale(weight);
        const Input<T> shift(bias);
        const Output<T> y(out);
        const Output<double> means(mean);
        const Output<double> deviations(invstd);
        parallel_for(parts.rows, row_grain(parts.length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const T* from = x.data() + row * parts.length;
                T* to = y.data() + row * parts.length;
                const Moments moments = moments_of(from, parts.length, eps);
                spans::normalise(from, to, parts.length, moments.mean, moments.invstd, scale.data(), shift.data());
                means[row] = moments.mean;
                deviations[row] = moments.invstd;
            }
        });
        y.store();
        means.store();
        deviations.store();
    });
}

void row_gradients(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                   const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Tensor& mean,
                   const Tensor& invstd, const Trailing& parts) {
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Input<T> grad_out(grad_output);
        const Input<T> scale(weight);
        const Input<double> means(mean);
        const Input<double> deviations(invstd);
        const Output<T> gradient(grad_input, input.numel);
        parallel_for(parts.rows, row_grain(parts.length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t first = row * parts.length;
                moments_gradient(x.data() + first, grad_out.data() + first, scale.data(), gradient.data() + first,
                                 parts.length, {means[row], deviations[row]});
            }
        });
        factor_gradients(parts, grad_out.data(), x.data(), grad_weight, grad_bias,
                         [&](int64_t row) { return Moments{means[row], deviations[row]}; });
        gradient.store();
    });
}

}  // namespace diopigen::core
