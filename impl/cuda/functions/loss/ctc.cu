// CTCLoss and its gradient: one group for each sample goes through the steps, with a thread for each state.
#include "diopi_core/math.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/to_device.h"
#include "loss/ctc.h"

namespace diopigen::cuda {

namespace {

struct DeviceSequences {
    int64_t steps;
    int64_t samples;
    int64_t classes;
    int64_t blank;
    int64_t states;
    const int64_t* labels;
    const int64_t* lengths;
    const int64_t* label_counts;
    const int64_t* first;

    DIOPI_DEVICE int64_t label(int64_t n, int64_t state) const {
        return state % 2 == 0 ? blank : labels[first[n] + state / 2];
    }
    DIOPI_DEVICE int64_t at(int64_t n, int64_t step) const { return (step * samples + n) * classes; }
};

class SequencesOnDevice {
  public:
    explicit SequencesOnDevice(const Sequences& all)
        : labels_(to_device(all.labels)),
          lengths_(to_device(all.lengths)),
          label_counts_(to_device(all.label_counts)),
          first_(to_device(all.first)),
          sequences_{all.steps,     all.samples,    all.classes,         all.blank,   all.states(),
                     list(labels_), list(lengths_), list(label_counts_), list(first_)} {}
    const DeviceSequences& sequences() const { return sequences_; }

  private:
    static const int64_t* list(const Buffer& buffer) { return static_cast<const int64_t*>(buffer.data()); }

    Buffer labels_;
    Buffer lengths_;
    Buffer label_counts_;
    Buffer first_;
    DeviceSequences sequences_;
};

// The forward variables of each sample, [steps, states], and its loss.
template <typename T>
void find_losses(double* losses, double* alphas, const T* log_probs, const DeviceSequences& all) {
    for_groups(all.samples, threads_for(all.states), 0, [=] DIOPI_KERNEL(Group & group, int64_t n) {
        double* alpha = alphas + n * all.steps * all.states;
        const int64_t steps = all.lengths[n];
        const int64_t last = 2 * all.label_counts[n];
        for (int64_t i = group.thread(); i < all.steps * all.states; i += group.size()) {
            alpha[i] = kNever;
        }
        group.sync();
        for (int64_t t = 0; t < steps; ++t) {
            const double* before = alpha + (t - 1) * all.states;
            for (int64_t s = group.thread(); s <= last; s += group.size()) {
                const auto own = static_cast<double>(log_probs[all.at(n, t) + all.label(n, s)]);
                if (t == 0) {
                    alpha[s] = s < 2 ? own : kNever;
                    continue;
                }
                // A state follows itself, the one before, and the one before that where no blank is needed between.
                const bool may_skip = s > 1 && all.label(n, s) != all.label(n, s - 2);
                const double sum =
                    log_sum(before[s], s > 0 ? before[s - 1] : kNever, may_skip ? before[s - 2] : kNever);
                alpha[t * all.states + s] = sum + own;
            }
            group.sync();
        }
        if (group.thread() == 0) {
            const double* end = alpha + (steps - 1) * all.states;
            if (steps == 0) {
                losses[n] = last == 0 ? 0 : -kNever;
            } else {
                losses[n] = -(last == 0 ? end[0] : log_sum(end[last], end[last - 1]));
            }
        }
    });
}

template <typename T>
void join_losses(T* out, const double* losses, const DeviceSequences& all, diopiReduction_t reduction,
                 bool zero_infinity) {
    const bool is_joined = reduction != ReductionNone;
    for_each(is_joined ? 1 : all.samples, [=] DIOPI_KERNEL(int64_t at) {
        double sum = 0;
        for (int64_t n = is_joined ? 0 : at; n < (is_joined ? all.samples : at + 1); ++n) {
            const double loss = zero_infinity && isinf(losses[n]) ? 0 : losses[n];
            const int64_t length = all.label_counts[n] > 1 ? all.label_counts[n] : 1;
            sum += reduction == ReductionMean ? loss / static_cast<double>(length) : loss;
        }
        out[at] = static_cast<T>(reduction == ReductionMean ? sum / static_cast<double>(all.samples) : sum);
    });
}

template <typename T>
struct CtcGradient {
    const T* log_probs;
    const T* losses;
    const T* alphas;
    const T* grad_out;
    double* rooms;  // for two rows of states and one of classes to each sample
    bool is_mean;
    bool zero_infinity;
};

// `gradient` is zero already.
template <typename T>
void find_gradient(T* gradient, const CtcGradient<T>& inputs, const DeviceSequences& all) {
    for_groups(all.samples, threads_for(all.states), 0, [=] DIOPI_KERNEL(Group & group, int64_t n) {
        const auto loss = static_cast<double>(inputs.losses[n]);
        if (inputs.zero_infinity && isinf(loss)) {
            return;  // for all threads of the group
        }
        const int64_t steps = all.lengths[n];
        const int64_t last = 2 * all.label_counts[n];
        auto factor = static_cast<double>(inputs.grad_out[n]);
        if (inputs.is_mean) {
            const int64_t length = all.label_counts[n] > 1 ? all.label_counts[n] : 1;
            factor /= static_cast<double>(all.samples) * static_cast<double>(length);
        }
        const T* alpha = inputs.alphas + n * all.steps * all.states;
        double* rooms[2];
        rooms[0] = inputs.rooms + n * (2 * all.states + all.classes);
        rooms[1] = rooms[0] + all.states;
        double* visits = rooms[1] + all.states;
        for (int64_t t = steps - 1; t >= 0; --t) {
            const T* row = inputs.log_probs + all.at(n, t);
            double* beta = rooms[t % 2];
            const double* following = rooms[(t + 1) % 2];
            for (int64_t s = group.thread(); s <= last; s += group.size()) {
                double sum = s >= last - 1 ? 0 : kNever;
                if (t < steps - 1) {
                    const bool may_skip = s + 2 <= last && all.label(n, s) != all.label(n, s + 2);
                    sum = log_sum(following[s], s < last ? following[s + 1] : kNever,
                                  may_skip ? following[s + 2] : kNever);
                }
                beta[s] = sum + static_cast<double>(row[all.label(n, s)]);
            }
            for (int64_t c = group.thread(); c < all.classes; c += group.size()) {
                visits[c] = kNever;
            }
            group.sync();
            // The first state of each class adds up all of them, in order.
            for (int64_t s = group.thread(); s <= last; s += group.size()) {
                const int64_t label = all.label(n, s);
                bool is_first = true;
                for (int64_t before = s % 2; before < s && is_first; before += 2) {
                    is_first = all.label(n, before) != label;
                }
                double sum = kNever;
                for (int64_t at = s; at <= last && is_first; at += 2) {
                    if (all.label(n, at) == label) {
                        sum = log_sum(sum, static_cast<double>(alpha[t * all.states + at]) + beta[at]);
                    }
                }
                if (is_first) {
                    visits[label] = sum;
                }
            }
            group.sync();
            for (int64_t c = group.thread(); c < all.classes; c += group.size()) {
                const auto log_p = static_cast<double>(row[c]);
                const double slope = numeric::exp(log_p) - numeric::exp(visits[c] + loss - log_p);
                gradient[all.at(n, t) + c] = static_cast<T>(slope * factor);
            }
            group.sync();
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void find_ctc_losses(const CtcTensors& written, const Tensor& log_probs, const Sequences& all,
                     diopiReduction_t reduction, bool zero_infinity) {
    const cuda::SequencesOnDevice to_device(all);
    dispatch_compute<kFloat32 | kFloat64>(log_probs.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(log_probs);
        const Output<T> result(written.out, all.samples);
        const Output<double> losses(written.losses);
        const Output<double> alpha(written.alpha);
        cuda::find_losses<T>(losses.data(), alpha.data(), scores.data(), to_device.sequences());
        cuda::join_losses<T>(result.data(), losses.data(), to_device.sequences(), reduction, zero_infinity);
        result.store();
        losses.store();
        alpha.store();
    });
}

void find_ctc_gradient(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& log_probs,
                       const CtcTensors& found, const Sequences& all, diopiReduction_t reduction, bool zero_infinity) {
    const cuda::SequencesOnDevice to_device(all);
    Buffer rooms;
    rooms.allocate(all.samples * (2 * all.states() + all.classes) * static_cast<int64_t>(sizeof(double)));
    dispatch_compute<kFloat32 | kFloat64>(log_probs.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(log_probs);
        const Input<T> losses(found.losses);
        const Input<T> alpha(found.alpha);
        const Input<T> grad_out(grad_out_tensor);
        const Output<T> gradient(gradient_tensor);
        cuda::clear(gradient.data(), static_cast<size_t>(gradient_tensor.numel) * sizeof(T));
        const cuda::CtcGradient<T> inputs{scores.data(),
                                          losses.data(),
                                          alpha.data(),
                                          grad_out.data(),
                                          static_cast<double*>(rooms.data()),
                                          reduction == ReductionMean,
                                          zero_infinity};
        cuda::find_gradient<T>(gradient.data(), inputs, to_device.sequences());
        gradient.store();
    });
}

}  // namespace diopigen::core
