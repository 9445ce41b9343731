// RMSNorm and its gradient: root mean squares over the trailing dimensions, in double. The loops.
#include "norm/norm_kernels.h"
#include "norm/trailing.h"

namespace diopigen::core {

void normalise_rows_by_rms(const Tensor& out_tensor, const Tensor& inverse_tensor, const Tensor& input_tensor,
                           const Tensor& weight_tensor, const Tensor& bias_tensor, const Trailing& parts, double eps) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> scale(weight_tensor);
        const Input<T> shift(bias_tensor);
        const Output<T> y(out_tensor);
        const Output<double> inverses(inverse_tensor);
        parallel_for(parts.rows, row_grain(parts.length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const T* from = x.data() + row * parts.length;
                T* to = y.data() + row * parts.length;
                const double squares = spans::squares(from, parts.length, 0);
                const double inverse = 1 / std::sqrt(squares / static_cast<double>(parts.length) + eps);
                spans::normalise(from, to, parts.length, 0, inverse, scale.data(), shift.data());
                inverses[row] = inverse;
            }
        });
        y.store();
        inverses.store();
    });
}

void rms_row_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                       const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                       const Tensor& inverse_tensor, const Trailing& parts) {
    dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Input<T> grad_out(grad_out_tensor);
        const Input<T> scale(weight_tensor);
        const Input<double> inverses(inverse_tensor);
        const Output<T> gradient(gradient_tensor, input_tensor.numel);
        parallel_for(parts.rows, row_grain(parts.length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t first = row * parts.length;
                const T* from = x.data() + first;
                const T* grad_row = grad_out.data() + first;
                const spans::Sums sums = spans::products(grad_row, scale.data(), from, parts.length, 0);
                const double mean_product = sums.product * inverses[row] / static_cast<double>(parts.length);
                spans::gradient(grad_row, scale.data(), from, gradient.data() + first, parts.length, 0, inverses[row],
                                0, inverses[row] * mean_product);
            }
        });
        factor_gradients(parts, grad_out.data(), x.data(), scale_tensor, shift_tensor,
                         [&](int64_t row) { return Moments{0, inverses[row]}; });
        gradient.store();
    });
}

}  // namespace diopigen::core
