// NLLLoss and NLLLossV2 with their gradients.
#include "elements.h"
#include "samples.h"

namespace diopigen::cuda {

namespace {

void look_for_wrong_indices(const Finding& found, const Int64* target, const Sizes& sizes, int64_t ignored) {
    for_each(sizes.count, [=] DIOPI_KERNEL(int64_t i) {
        const int64_t class_index = target[i].value;
        if (class_index != ignored && (class_index < 0 || class_index >= sizes.classes)) {
            found();
        }
    });
}

template <typename S>
struct ScoreOf {
    Sizes sizes;
    Targets<S> targets;
    const S* scores;

    DIOPI_DEVICE Weighed operator()(int64_t i) const {
        const double mean_weight = targets.mean_weight(i);
        if (!targets.counts(i)) {
            return {};
        }
        const int64_t at = sizes.first(i) + targets.indices[i].value * sizes.inner;
        return {-mean_weight * static_cast<double>(static_cast<Computed<S>>(scores[at])), mean_weight};
    }
};

// By a kernel, which does nothing where an index was rejected.
template <typename S>
void write_zeros(S* to, int64_t count) {
    constexpr int n = kVectorSize<S>;
    const bool is_vectorized = can_vectorize<S>(0, {to});
    for_each((count + n - 1) / n, [=] DIOPI_KERNEL(int64_t k) {
        const Computed<S> zeros[n] = {};
        store_some<S, n>(to, zeros, k * n, count - k * n < n ? static_cast<int>(count - k * n) : n, is_vectorized);
    });
}

// One element of the gradient of each sample; the others are 0 already. `divisor` and `stored_divisor` may be null.
template <typename S>
void nll_slopes(const Sizes& sizes, const Targets<S>& targets, S* gradient, const S* grad_out, int64_t stride,
                const double* divisor, const S* stored_divisor) {
    for_each(sizes.count, [=] DIOPI_KERNEL(int64_t i) {
        using T = Computed<S>;
        if (targets.counts(i)) {
            const int64_t c = targets.indices[i].value;
            const double by = stored_divisor != nullptr ? static_cast<double>(static_cast<T>(*stored_divisor))
                              : divisor != nullptr      ? *divisor
                                                        : 1.0;
            const double grad_value = static_cast<double>(static_cast<T>(grad_out[i * stride]));
            gradient[sizes.first(i) + c * sizes.inner] = cast<S>(-targets.weight(c) * grad_value / by);
        }
    });
}

}  // namespace

void require_indices(const Int64* target, const Sizes& sizes, int64_t ignored, const char* message) {
    const Check check(message);
    look_for_wrong_indices(check.finding(), target, sizes, ignored);
    check.conclude();
}

}  // namespace diopigen::cuda

namespace diopigen::core {

using cuda::Sizes;

void nll_losses(const Tensor& out, const Tensor& total_weight, const Tensor& input, const Tensor& target,
                const Tensor& weight, const Classes& classes, diopiReduction_t reduction, int64_t ignored) {
    const Sizes sizes(classes);
    const Input<Int64> class_index(target);
    cuda::require_indices(class_index.data(), sizes, ignored, kNllIndexRule);
    dispatch<kFloating>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> scores(input);
        const Input<S> weights(weight);
        const Output<S> result(out);
        const Output<S> total(total_weight, 1);
        const cuda::Targets<S> targets{class_index.data(), weights.data(), ignored};
        cuda::add_up_samples<S>(sizes.count, cuda::ScoreOf<S>{sizes, targets, scores.data()}, reduction, result.data(),
                                total.data(), nullptr);
        result.store();
        total.store();
    });
}

void nll_gradients(const Tensor& grad_input, const Tensor& grad_output, const Tensor& input, const Tensor& target,
                   const Tensor& weight, const Tensor& total_weight, const Classes& classes, diopiReduction_t reduction,
                   int64_t ignored) {
    const Sizes sizes(classes);
    const Input<Int64> class_index(target);
    cuda::require_indices(class_index.data(), sizes, ignored, kNllIndexRule);
    // One gradient for all samples is not spread out.
    const bool is_single = grad_output.numel == 1;
    const View grad_out_view =
        is_single ? expanded(grad_output, shape_of(grad_output)) : expanded(grad_output, classes.without);
    dispatch<kFloating>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> grad_out(grad_out_view.tensor());
        const Input<S> weights(weight);
        const Input<S> stored_divisor(total_weight);
        const Output<S> result(grad_input);
        const cuda::Targets<S> targets{class_index.data(), weights.data(), ignored};
        const bool is_mean = reduction == ReductionMean;
        const cuda::SampleRoom<double> divisor(1);
        if (is_mean && total_weight.is_null()) {
            cuda::add_up_samples<S>(sizes.count, cuda::MeanWeightAlone<S>{targets}, ReductionSum, nullptr, nullptr,
                                    divisor.data());
        }
        cuda::write_zeros<S>(result.data(), grad_input.numel);
        cuda::nll_slopes<S>(sizes, targets, result.data(), grad_out.data(), is_single ? 0 : 1,
                            is_mean ? divisor.data() : nullptr, is_mean ? stored_divisor.data() : nullptr);
        result.store();
    });
}

}  // namespace diopigen::core
