#include "diopi_core/reduction.h"
#include "loss/ctc.h"

namespace diopigen::core {

namespace {

// Fills the forward variables of a sample, `alpha[step * states + state]`, and returns its loss.
template <typename T>
double forward(const Sequences& all, int64_t n, const T* log_probs, double* alpha) {
    const int64_t states = all.states();
    const int64_t steps = all.lengths[n];
    const int64_t last = 2 * all.label_counts[n];
    std::fill(alpha, alpha + all.steps * states, kNever);
    if (steps == 0) {
        return last == 0 ? 0 : -kNever;
    }
    alpha[0] = log_probs[all.at(n, 0) + all.blank];
    if (last > 0) {
        alpha[1] = log_probs[all.at(n, 0) + all.label(n, 1)];
    }
    for (int64_t t = 1; t < steps; ++t) {
        const double* before = alpha + (t - 1) * states;
        for (int64_t s = 0; s <= last; ++s) {
            // A state follows itself, the one before, and the one before that where no blank is needed between.
            const bool may_skip = s >= 2 && all.label(n, s) != all.label(n, s - 2);
            const double sum = log_sum(before[s], s > 0 ? before[s - 1] : kNever, may_skip ? before[s - 2] : kNever);
            alpha[t * states + s] = sum + log_probs[all.at(n, t) + all.label(n, s)];
        }
    }
    const double* end = alpha + (steps - 1) * states;
    return -(last == 0 ? end[0] : log_sum(end[last], end[last - 1]));
}

// Writes the gradient of the loss of a sample times `grad_out`.
template <typename T>
void backward(const Sequences& all, int64_t n, const T* log_probs, const T* alpha, double loss, double grad_out,
              T* gradient) {
    const int64_t states = all.states();
    const int64_t steps = all.lengths[n];
    const int64_t last = 2 * all.label_counts[n];
    std::vector<double> beta(static_cast<size_t>(states), kNever);
    std::vector<double> following(static_cast<size_t>(states), kNever);
    std::vector<double> visits(static_cast<size_t>(all.classes));
    for (int64_t t = steps - 1; t >= 0; --t) {
        const T* row = log_probs + all.at(n, t);
        std::fill(visits.begin(), visits.end(), kNever);
        for (int64_t s = 0; s <= last; ++s) {
            double sum = kNever;
            if (t == steps - 1) {
                sum = s >= last - 1 ? 0 : kNever;
            } else {
                const bool may_skip = s + 2 <= last && all.label(n, s) != all.label(n, s + 2);
                sum = log_sum(following[s], s < last ? following[s + 1] : kNever, may_skip ? following[s + 2] : kNever);
            }
            const int64_t label = all.label(n, s);
            beta[s] = sum + row[label];
            visits[label] = log_sum(visits[label], alpha[t * states + s] + beta[s]);
        }
        for (int64_t c = 0; c < all.classes; ++c) {
            const double log_p = row[c];
            const double slope = std::exp(log_p) - std::exp(visits[c] + loss - log_p);
            gradient[all.at(n, t) + c] = static_cast<T>(slope * grad_out);
        }
        std::swap(beta, following);
    }
}

}  // namespace

void find_ctc_losses(const CtcTensors& written, const Tensor& log_probs, const Sequences& all,
                     diopiReduction_t reduction, bool zero_infinity) {
    dispatch_compute<kFloat32 | kFloat64>(log_probs.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(log_probs);
        const Output<T> result(written.out, all.samples);
        const Output<double> losses(written.losses);
        const Output<double> alpha(written.alpha);
        const int64_t size = all.steps * all.states();
        parallel_for(all.samples, row_grain(16 * size), [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; ++n) {
                losses[n] = forward(all, n, scores.data(), alpha.data() + n * size);
            }
        });
        double sum = 0;
        for (int64_t n = 0; n < all.samples; ++n) {
            const double loss = zero_infinity && std::isinf(losses[n]) ? 0 : losses[n];
            if (reduction == ReductionNone) {
                result[n] = static_cast<T>(loss);
            }
            const int64_t length = std::max<int64_t>(all.label_counts[n], 1);
            sum += reduction == ReductionMean ? loss / static_cast<double>(length) : loss;
        }
        if (reduction != ReductionNone) {
            result[0] = static_cast<T>(reduction == ReductionMean ? sum / static_cast<double>(all.samples) : sum);
        }
        result.store();
        losses.store();
        alpha.store();
    });
}

void find_ctc_gradient(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& log_probs,
                       const CtcTensors& found, const Sequences& all, diopiReduction_t reduction, bool zero_infinity) {
    dispatch_compute<kFloat32 | kFloat64>(log_probs.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(log_probs);
        const Input<T> losses(found.losses);
        const Input<T> alpha(found.alpha);
        const Input<T> grad_out(grad_out_tensor);
        const Output<T> gradient(gradient_tensor);
        std::fill(gradient.data(), gradient.data() + gradient_tensor.numel, T(0));
        const int64_t size = all.steps * all.states();
        parallel_for(all.samples, row_grain(16 * size), [&](int64_t begin, int64_t end) {
            for (int64_t n = begin; n < end; ++n) {
                if (zero_infinity && std::isinf(losses[n])) {
                    continue;
                }
                double factor = grad_out[n];
                if (reduction == ReductionMean) {
                    const int64_t length = std::max<int64_t>(all.label_counts[n], 1);
                    factor /= static_cast<double>(all.samples) * static_cast<double>(length);
                }
                backward(all, n, scores.data(), alpha.data() + n * size, losses[n], factor, gradient.data());
            }
        });
        gradient.store();
    });
}

}  // namespace diopigen::core
