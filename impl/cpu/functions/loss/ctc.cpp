// CTCLoss and its gradient (Graves et al., 2006), all sums of probabilities as logarithms in double. The states of a
// sample are its target with a blank before, between and behind the classes.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "classes.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b) + exp(c)).
double log_sum(double a, double b, double c = kNever) {
    double top = std::max({a, b, c});
    if (top == kNever) {
        top = 0;
    }
    return std::log(std::exp(a - top) + std::exp(b - top) + std::exp(c - top)) + top;
}

// Sequences and targets, checked.
struct Sequences {
    Sequences(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
              int64_t blank_class)
        : steps(log_probs.shape[0]),
          samples(log_probs.shape[1]),
          classes(log_probs.shape[2]),
          blank(blank_class),
          labels(targets),
          lengths(input_lengths),
          label_counts(target_lengths) {
        const char* const kRule =
            "C3: input_lengths are at most T, target_lengths fit targets, and targets are classes other than blank";
        require(blank >= 0 && blank < classes, "C1: blank is at least 0 and below C");
        require(targets.rank == 1 || targets.rank == 2, "C2: targets has one or two dimensions");
        require_shape(input_lengths, {samples});
        require_shape(target_lengths, {samples});
        const bool is_padded = targets.rank == 2;
        if (is_padded) {
            require_shape(targets, {samples, targets.shape[1]});
        }
        int64_t next = 0;
        for (int64_t n = 0; n < samples; ++n) {
            const int64_t count = label_counts[n].value;
            require(lengths[n].value >= 0 && lengths[n].value <= steps && count >= 0, kRule);
            require(count <= (is_padded ? targets.shape[1] : targets.numel - next), kRule);
            first.push_back(is_padded ? n * targets.shape[1] : next);
            for (int64_t i = first[n]; i < first[n] + count; ++i) {
                require(labels[i].value >= 0 && labels[i].value < classes && labels[i].value != blank, kRule);
            }
            next += count;
            longest = std::max(longest, count);
        }
        require(is_padded || next == targets.numel, kRule);
    }

    int64_t states() const { return 2 * longest + 1; }
    // The class of a state of a sample.
    int64_t label(int64_t n, int64_t state) const {
        return state % 2 == 0 ? blank : labels[first[n] + state / 2].value;
    }
    // Where the log-probabilities of a step of a sample begin.
    int64_t at(int64_t n, int64_t step) const { return (step * samples + n) * classes; }

    int64_t steps;
    int64_t samples;
    int64_t classes;
    int64_t blank;
    Input<Int64> labels;
    Input<Int64> lengths;
    Input<Int64> label_counts;
    std::vector<int64_t> first;
    int64_t longest = 0;
};

// Fills the forward variables of a sample, `alpha[step * states + state]`, and returns its loss.
template <typename T>
double forward(const Sequences& all, int64_t n, const T* log_probs, double* alpha) {
    const int64_t states = all.states();
    const int64_t steps = all.lengths[n].value;
    const int64_t last = 2 * all.label_counts[n].value;
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
            const bool may_skip = s > 1 && all.label(n, s) != all.label(n, s - 2);
            const double sum = log_sum(before[s], s > 0 ? before[s - 1] : kNever, may_skip ? before[s - 2] : kNever);
            alpha[t * states + s] = sum + log_probs[all.at(n, t) + all.label(n, s)];
        }
    }
    const double* end = alpha + (steps - 1) * states;
    return -(last == 0 ? end[0] : log_sum(end[last], end[last - 1]));
}

// Writes the gradient of the loss of a sample times `incoming`.
template <typename T>
void backward(const Sequences& all, int64_t n, const T* log_probs, const T* alpha, double loss, double incoming,
              T* gradient) {
    const int64_t states = all.states();
    const int64_t steps = all.lengths[n].value;
    const int64_t last = 2 * all.label_counts[n].value;
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
            gradient[all.at(n, t) + c] = static_cast<T>(slope * incoming);
        }
        std::swap(beta, following);
    }
}

}  // namespace

DIOPI_API diopiError_t diopiCTCLoss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiTensorHandle_t neg_log_likelihood, diopiTensorHandle_t log_alpha,
                                    diopiConstTensorHandle_t log_probs, diopiConstTensorHandle_t targets,
                                    diopiConstTensorHandle_t input_lengths, diopiConstTensorHandle_t target_lengths,
                                    int64_t blank, diopiReduction_t reduction, bool zero_infinity) {
    return guarded("diopiCTCLoss", [&] {
        const Tensor out_tensor = tensor("out", out, kFloat32 | kFloat64);
        const Tensor losses_tensor = tensor("neg_log_likelihood", neg_log_likelihood, kFloat32 | kFloat64);
        const Tensor alpha_tensor = tensor("log_alpha", log_alpha, kFloat32 | kFloat64);
        const Tensor input_tensor = tensor("log_probs", log_probs, kFloat32 | kFloat64);
        const Tensor targets_tensor = tensor("targets", targets, kIndex);
        const Tensor lengths_tensor = tensor("input_lengths", input_lengths, kIndex);
        const Tensor counts_tensor = tensor("target_lengths", target_lengths, kIndex);
        check_reduction(reduction);
        require_rank(input_tensor, 3, 3);
        const Sequences all(input_tensor, targets_tensor, lengths_tensor, counts_tensor, blank);
        require_shape(out_tensor,
                      reduction == ReductionNone ? std::vector<int64_t>{all.samples} : std::vector<int64_t>());
        require_shape(losses_tensor, {all.samples});
        require_shape(alpha_tensor, {all.samples, all.steps, all.states()});
        require_disjoint(out_tensor, losses_tensor);
        require_disjoint(out_tensor, alpha_tensor);
        require_disjoint(losses_tensor, alpha_tensor);
        for (const Tensor* written : {&out_tensor, &losses_tensor, &alpha_tensor}) {
            require_same_dtype(*written, input_tensor);
            require_no_overlap(*written);
            for (const Tensor* operand : {&input_tensor, &targets_tensor, &lengths_tensor, &counts_tensor}) {
                require_disjoint(*written, *operand);
                require_one_device({&input_tensor, written, operand});
            }
        }
        dispatch_compute<kFloat32 | kFloat64>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> scores(input_tensor);
            const Output<T> result(out_tensor);
            const Output<double> losses(losses_tensor);
            const Output<double> alpha(alpha_tensor);
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
                const int64_t length = std::max<int64_t>(all.label_counts[n].value, 1);
                sum += reduction == ReductionMean ? loss / static_cast<double>(length) : loss;
            }
            if (reduction != ReductionNone) {
                result[0] = static_cast<T>(reduction == ReductionMean ? sum / static_cast<double>(all.samples) : sum);
            }
            result.store();
            losses.store();
            alpha.store();
        });
    });
}

DIOPI_API diopiError_t diopiCTCLossBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t log_probs,
                                            diopiConstTensorHandle_t targets, diopiConstTensorHandle_t input_lengths,
                                            diopiConstTensorHandle_t target_lengths,
                                            diopiConstTensorHandle_t neg_log_likelihood,
                                            diopiConstTensorHandle_t log_alpha, int64_t blank,
                                            diopiReduction_t reduction, bool zero_infinity) {
    return guarded("diopiCTCLossBackward", [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloat32 | kFloat64);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloat32 | kFloat64);
        const Tensor input_tensor = tensor("log_probs", log_probs, kFloat32 | kFloat64);
        const Tensor targets_tensor = tensor("targets", targets, kIndex);
        const Tensor lengths_tensor = tensor("input_lengths", input_lengths, kIndex);
        const Tensor counts_tensor = tensor("target_lengths", target_lengths, kIndex);
        const Tensor losses_tensor = tensor("neg_log_likelihood", neg_log_likelihood, kFloat32 | kFloat64);
        const Tensor alpha_tensor = tensor("log_alpha", log_alpha, kFloat32 | kFloat64);
        check_reduction(reduction);
        require_rank(input_tensor, 3, 3);
        const Sequences all(input_tensor, targets_tensor, lengths_tensor, counts_tensor, blank);
        require_same_shape(gradient_tensor, input_tensor);
        require_shape(losses_tensor, {all.samples});
        require_shape(alpha_tensor, {all.samples, all.steps, all.states()});
        require_broadcastable(incoming_tensor, losses_tensor);
        require_no_overlap(gradient_tensor);
        for (const Tensor* operand : {&incoming_tensor, &losses_tensor, &alpha_tensor}) {
            require_same_dtype(*operand, input_tensor);
        }
        require_same_dtype(gradient_tensor, input_tensor);
        for (const Tensor* operand : {&incoming_tensor, &input_tensor, &targets_tensor, &lengths_tensor, &counts_tensor,
                                      &losses_tensor, &alpha_tensor}) {
            require_disjoint(gradient_tensor, *operand);
            require_one_device({&input_tensor, &gradient_tensor, operand});
        }
        dispatch_compute<kFloat32 | kFloat64>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> scores(input_tensor);
            const Input<T> losses(losses_tensor);
            const Input<T> alpha(alpha_tensor);
            const View incoming_view = expanded(incoming_tensor, {all.samples});
            const Input<T> incoming(incoming_view.tensor());
            const Output<T> gradient(gradient_tensor);
            std::fill(gradient.data(), gradient.data() + gradient_tensor.numel, T(0));
            const int64_t size = all.steps * all.states();
            parallel_for(all.samples, row_grain(16 * size), [&](int64_t begin, int64_t end) {
                for (int64_t n = begin; n < end; ++n) {
                    if (zero_infinity && std::isinf(losses[n])) {
                        continue;
                    }
                    double factor = incoming[n];
                    if (reduction == ReductionMean) {
                        const int64_t length = std::max<int64_t>(all.label_counts[n].value, 1);
                        factor /= static_cast<double>(all.samples) * static_cast<double>(length);
                    }
                    backward(all, n, scores.data(), alpha.data() + n * size, losses[n], factor, gradient.data());
                }
            });
            gradient.store();
        });
    });
}
