// NLLLoss and NLLLossV2 with their gradients: sums in double. The mean divides by the weights of the samples that
// count. The loops.
#include "diopi_core/reduction.h"
#include "loss/classes.h"
#include "loss/loss_kernels.h"

namespace diopigen::core {

void nll_losses(const Tensor& out, const Tensor& total_weight, const Tensor& input, const Tensor& target,
                const Tensor& weight, const Classes& sizes, diopiReduction_t reduction, int64_t ignored) {
    const Input<Int64> class_indices(target);
    check_indices(class_indices, sizes, ignored, kNllIndexRule);
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(input);
        const Input<T> weights(weight);
        const Output<T> result(out);
        const Output<T> total(total_weight, 1);
        const double total_mean_weight = reduce_samples(result, sizes.count(), 8192, reduction, [&](int64_t i) {
            const int64_t at = class_indices[i].value;
            if (at == ignored) {
                return Weighed();
            }
            const double mean_weight = weights ? weights[at] : T(1);
            return Weighed{-mean_weight * scores[sizes.first(i) + at * sizes.inner], mean_weight};
        });
        total[0] = static_cast<T>(reduction == ReductionNone ? 0 : total_mean_weight);
        result.store();
        total.store();
    });
}

void nll_gradients(const Tensor& grad_input, const Tensor& grad_output, const Tensor& input, const Tensor& target,
                   const Tensor& weight, const Tensor& total_weight, const Classes& sizes, diopiReduction_t reduction,
                   int64_t ignored) {
    const Input<Int64> class_indices(target);
    check_indices(class_indices, sizes, ignored, kNllIndexRule);
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const View grad_out_view = expanded(grad_output, sizes.without);
        const Input<T> grad_out(grad_out_view.tensor());
        const Input<T> weights(weight);
        const Input<T> stored_total(total_weight);
        const Output<T> result(grad_input);
        const auto weight_of = [&](int64_t c) { return static_cast<double>(weights ? weights[c] : T(1)); };
        double divisor = 1;
        if (reduction == ReductionMean && stored_total) {
            divisor = stored_total[0];
        } else if (reduction == ReductionMean) {
            divisor = 0;
            for (int64_t i = 0; i < sizes.count(); ++i) {
                divisor += class_indices[i].value == ignored ? 0 : weight_of(class_indices[i].value);
            }
        }
        parallel_for(sizes.count(), row_grain(sizes.classes), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t first = sizes.first(i);
                for (int64_t c = 0; c < sizes.classes; ++c) {
                    result[first + c * sizes.inner] = 0;
                }
                const int64_t at = class_indices[i].value;
                if (at != ignored) {
                    result[first + at * sizes.inner] = static_cast<T>(-weight_of(at) * grad_out[i] / divisor);
                }
            }
        });
        result.store();
    });
}

}  // namespace diopigen::core
