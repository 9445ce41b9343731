// What the connectionist temporal classification loss is about.
#ifndef DIOPI_CORE_FUNCTIONS_LOSS_CTC_H_
#define DIOPI_CORE_FUNCTIONS_LOSS_CTC_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../attention/operands.h"
#include "diopi_core/host_device.h"

namespace diopigen::core {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b) + exp(c)).
DIOPI_HOST_DEVICE inline double log_sum(double a, double b, double c = kNever) {
    double top = a < b ? b : a;
    top = top < c ? c : top;
    if (top == kNever) {
        top = 0;
    }
    return numeric::log(numeric::exp(a - top) + numeric::exp(b - top) + numeric::exp(c - top)) + top;
}

// Sequences and targets.
struct Sequences {
    // `Args`: those of the loss or of its gradient; `rule` is what their contract says of the elements of lengths and
    // targets.
    template <typename Args>
    Sequences(const Args& args, const char* rule)
        : steps(args.log_probs.shape[0]),
          samples(args.log_probs.shape[1]),
          classes(args.log_probs.shape[2]),
          blank(args.blank),
          labels(attention::indices(args.targets)),
          lengths(attention::indices(args.input_lengths)),
          label_counts(attention::indices(args.target_lengths)) {
        const Tensor& targets = args.targets;
        const bool is_padded = targets.rank == 2;
        int64_t next = 0;
        for (int64_t n = 0; n < samples; ++n) {
            const int64_t count = label_counts[n];
            require(lengths[n] >= 0 && lengths[n] <= steps && count >= 0, rule);
            require(count <= (is_padded ? targets.shape[1] : targets.numel - next), rule);
            first.push_back(is_padded ? n * targets.shape[1] : next);
            for (int64_t i = first[n]; i < first[n] + count; ++i) {
                require(labels[i] >= 0 && labels[i] < classes && labels[i] != blank, rule);
            }
            next += count;
            longest = std::max(longest, count);
        }
        require(is_padded || next == targets.numel, rule);
    }

    int64_t states() const { return 2 * longest + 1; }
    // The class of a state of a sample.
    int64_t label(int64_t n, int64_t state) const { return state % 2 == 0 ? blank : labels[first[n] + state / 2]; }
    // Where the log-probabilities of a step of a sample begin.
    int64_t at(int64_t n, int64_t step) const { return (step * samples + n) * classes; }

    int64_t steps;
    int64_t samples;
    int64_t classes;
    int64_t blank;
    std::vector<int64_t> labels;
    std::vector<int64_t> lengths;
    std::vector<int64_t> label_counts;
    std::vector<int64_t> first;  // label of each sample
    int64_t longest = 0;
};

// ---- What is done to elements. Each library has its own. ----

// What the forward call writes and the backward call reads, but for `out`: the losses, and the forward variables,
// [samples, steps, states].
struct CtcTensors {
    const Tensor& out;
    const Tensor& losses;
    const Tensor& alpha;
};

void find_ctc_losses(const CtcTensors& written, const Tensor& log_probs, const Sequences& all,
                     diopiReduction_t reduction, bool zero_infinity);
void find_ctc_gradient(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& log_probs,
                       const CtcTensors& found, const Sequences& all, diopiReduction_t reduction, bool zero_infinity);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_LOSS_CTC_H_
