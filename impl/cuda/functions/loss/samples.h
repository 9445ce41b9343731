// What the losses over classes have in common: sizes, class indices, and the losses of samples with their parts of what
// the mean divides by, added up in parts of samples whose order follows from their number alone.
#ifndef DIOPI_CUDA_LOSS_SAMPLES_H_
#define DIOPI_CUDA_LOSS_SAMPLES_H_

#include "diopi_core/cast.h"
#include "diopi_cuda/aligned_vector.h"
#include "diopi_cuda/launch.h"
#include "loss/loss_kernels.h"

namespace diopigen::cuda {

// The sizes of a classification as a kernel sees them.
struct Sizes {
    int64_t count;
    int64_t classes;
    int64_t inner;

    explicit Sizes(const Classes& sizes) : count(sizes.count()), classes(sizes.classes), inner(sizes.inner) {}
    // Where the scores of a sample begin; from class to class it is `inner` on.
    DIOPI_DEVICE int64_t first(int64_t at) const {
        if (inner == 1) {
            return at * classes;
        }
        const int64_t outer = quotient(at, inner);
        return outer * classes * inner + (at - outer * inner);
    }
};

// Whether every class index is `ignored` or one of a class. Waits for the stream.
void require_indices(const Int64* target, const Sizes& sizes, int64_t ignored, const char* message);

template <typename T>
class SampleRoom {
  public:
    explicit SampleRoom(int64_t count) { memory_.allocate(count * static_cast<int64_t>(sizeof(T))); }
    T* data() const { return static_cast<T*>(memory_.data()); }

  private:
    Buffer memory_;
};

// The class indices of samples, and what each class weighs.
template <typename S>
struct Targets {
    const Int64* indices;  // null: every sample counts once
    const S* weights;      // null: 1
    int64_t ignored;

    DIOPI_DEVICE bool counts(int64_t i) const { return indices == nullptr || indices[i].value != ignored; }
    DIOPI_DEVICE double weight(int64_t c) const {
        return weights != nullptr ? static_cast<double>(static_cast<Computed<S>>(weights[c])) : 1.0;
    }
    DIOPI_DEVICE double mean_weight(int64_t i) const {
        return !counts(i) ? 0.0 : indices != nullptr ? weight(indices[i].value) : 1.0;
    }
};

struct JoinWeighed {
    DIOPI_DEVICE Weighed operator()(const Weighed& a, const Weighed& b) const {
        return {a.loss + b.loss, a.mean_weight + b.mean_weight};
    }
};

// The sums over each part of the samples of what `loss(i)` gives, a Weighed. `out`, where it is not null, gets each
// loss.
template <typename S, typename Loss>
struct SampleParts {
    static constexpr int64_t kPart = 4096;

    int64_t count;
    Loss loss;
    S* out;
    Weighed* parts;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int64_t end = (k + 1) * kPart < count ? (k + 1) * kPart : count;
        Weighed sum;
        for (int64_t i = k * kPart + group.thread(); i < end; i += group.size()) {
            const Weighed own = loss(i);
            sum = JoinWeighed()(sum, own);
            if (out != nullptr) {
                out[i] = cast<S>(own.loss);
            }
        }
        sum = group.reduce(sum, JoinWeighed());
        if (group.thread() == 0) {
            parts[k] = sum;
        }
    }
};

// What is computed from all parts: the sum or the mean, and the sum of these weights as a tensor needs it and as
// kernels do.
template <typename S>
struct FinishSamples {
    const Weighed* parts;
    int64_t count;
    S* out;  // null: not asked for
    bool is_mean;
    S* mean_weight;  // likewise
    bool counts;
    double* divisor;  // likewise

    DIOPI_DEVICE void operator()(const Group& group, int64_t) const {
        Weighed sum;
        for (int64_t k = group.thread(); k < count; k += group.size()) {
            sum = JoinWeighed()(sum, parts[k]);
        }
        sum = group.reduce(sum, JoinWeighed());
        if (group.thread() == 0) {
            if (out != nullptr) {
                *out = cast<S>(is_mean ? sum.loss / sum.mean_weight : sum.loss);
            }
            if (mean_weight != nullptr) {
                *mean_weight = cast<S>(counts ? sum.mean_weight : 0.0);
            }
            if (divisor != nullptr) {
                *divisor = sum.mean_weight;
            }
        }
    }
};

// Adds up the losses of all samples, or writes them.
template <typename S, typename Loss>
void add_up_samples(int64_t count, const Loss& loss, diopiReduction_t reduction, S* out, S* mean_weight,
                    double* divisor) {
    const bool is_unreduced = reduction == ReductionNone;
    const int64_t parts = (count + SampleParts<S, Loss>::kPart - 1) / SampleParts<S, Loss>::kPart;
    const SampleRoom<Weighed> room(parts);
    for_groups(parts, kThreads, 0, SampleParts<S, Loss>{count, loss, is_unreduced ? out : nullptr, room.data()});
    for_groups(1, threads_for(parts), 0,
               FinishSamples<S>{room.data(), parts, is_unreduced ? nullptr : out, reduction == ReductionMean,
                                mean_weight, !is_unreduced, divisor});
}

// The weight of each sample, without a loss.
template <typename S>
struct MeanWeightAlone {
    Targets<S> targets;
    DIOPI_DEVICE Weighed operator()(int64_t i) const { return {0, targets.mean_weight(i)}; }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_LOSS_SAMPLES_H_
