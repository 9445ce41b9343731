// NLLLoss and CrossEntropyLoss with their gradients. Losses of samples and their shares of what the mean divides by are
// made first, then added up by one group: in the same order on every device.
#include "diopi_cpu/math.h"
#include "diopi_cuda/flag.h"
#include "diopi_cuda/launch.h"
#include "loss/kernels.h"

namespace diopi::cuda {

namespace {

// The sizes of a classification as a kernel sees them.
struct Sizes {
    int64_t count;
    int64_t classes;
    int64_t places;

    explicit Sizes(const Classes& sizes) : count(sizes.count()), classes(sizes.classes), places(sizes.places) {}
    // Where the scores of a sample begin; from class to class it is `places` on.
    DIOPI_DEVICE int64_t first(int64_t at) const { return at / places * classes * places + at % places; }
};

void mark_wrong_indices(const Int64* target, const Sizes& sizes, int64_t ignored, int* flag) {
    for_each(sizes.count, [=] DIOPI_KERNEL(int64_t i) {
        const int64_t wanted = target[i].value;
        if (wanted != ignored && (wanted < 0 || wanted >= sizes.classes)) {
            *flag = 1;
        }
    });
}

void require_indices(const Int64* target, const Sizes& sizes, int64_t ignored, const char* message) {
    const Flag is_wrong;
    mark_wrong_indices(target, sizes, ignored, is_wrong.data());
    require(!is_wrong.is_raised(), message);
}

// A double for each sample.
class SampleValues {
  public:
    explicit SampleValues(int64_t count) { memory_.allocate(count * static_cast<int64_t>(sizeof(double))); }
    double* data() const { return static_cast<double*>(memory_.data()); }

  private:
    Buffer memory_;
};

// total[0] = the sum of `values`.
void add_up(double* total, const double* values, int64_t count) {
    for_groups(1, kThreads, 0, [=] DIOPI_KERNEL(Group & group, int64_t) {
        double sum = 0;
        for (int64_t i = group.thread(); i < count; i += group.size()) {
            sum += values[i];
        }
        sum = group.sum(sum);
        if (group.thread() == 0) {
            *total = sum;
        }
    });
}

template <typename T>
void write_losses(T* out, const double* losses, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { out[i] = static_cast<T>(losses[i]); });
}

template <typename T>
void write_total(T* out, const double* loss, const double* share, bool is_mean) {
    for_each(1, [=] DIOPI_KERNEL(int64_t) { *out = static_cast<T>(is_mean ? *loss / *share : *loss); });
}

template <typename T>
void write_share(T* out, const double* share, bool counts) {
    for_each(1, [=] DIOPI_KERNEL(int64_t) { *out = static_cast<T>(counts ? *share : 0); });
}

template <typename T>
void finish(const Output<T>& out, const SampleValues& losses, const SampleValues& shares, int64_t count,
            diopiReduction_t reduction, const SampleValues& totals) {
    add_up(totals.data(), losses.data(), count);
    add_up(totals.data() + 1, shares.data(), count);
    if (reduction == ReductionNone) {
        write_losses<T>(out.data(), losses.data(), count);
    } else {
        write_total<T>(out.data(), totals.data(), totals.data() + 1, reduction == ReductionMean);
    }
}

// ---- NLL. ----

template <typename T>
void nll_samples(const Sizes& sizes, double* losses, double* shares, const T* scores, const Int64* target,
                 const T* weights, int64_t ignored) {
    for_each(sizes.count, [=] DIOPI_KERNEL(int64_t i) {
        const int64_t at = target[i].value;
        const bool counts = at != ignored;
        const double share = !counts ? 0.0 : weights != nullptr ? static_cast<double>(weights[at]) : 1.0;
        shares[i] = share;
        losses[i] = counts ? -share * static_cast<double>(scores[sizes.first(i) + at * sizes.places]) : 0.0;
    });
}

template <typename T>
void nll_slopes(const Sizes& sizes, T* gradient, const T* incoming, const Int64* target, const T* weights,
                int64_t ignored, const double* divisor, const T* given) {
    for_each(sizes.count * sizes.classes, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t i = k / sizes.classes;
        const int64_t c = k % sizes.classes;
        const int64_t wanted = target[i].value;
        double value = 0;
        if (wanted == c && wanted != ignored) {
            const double weight = weights != nullptr ? static_cast<double>(weights[c]) : 1.0;
            const double by = given != nullptr ? static_cast<double>(*given) : divisor != nullptr ? *divisor : 1.0;
            value = -weight * static_cast<double>(incoming[i]) / by;
        }
        gradient[sizes.first(i) + c * sizes.places] = static_cast<T>(value);
    });
}

// ---- Cross entropy: the classes of a sample by one group. ----

template <typename T>
struct Entropy {
    Sizes sizes;
    const T* logits;
    const T* weights;
    const Int64* indices;  // null: probabilities
    const T* probabilities;
    int64_t ignored;
    double smoothing;

    DIOPI_DEVICE bool counts(int64_t i) const { return indices == nullptr || indices[i].value != ignored; }
    DIOPI_DEVICE double weight(int64_t c) const { return weights != nullptr ? static_cast<double>(weights[c]) : 1.0; }
    DIOPI_DEVICE double share(int64_t i) const {
        return !counts(i) ? 0.0 : indices != nullptr ? weight(indices[i].value) : 1.0;
    }
    DIOPI_DEVICE T logit(int64_t i, int64_t c) const { return logits[sizes.first(i) + c * sizes.places]; }

    // What the negated log-probability of class c is multiplied by in the loss of sample i.
    DIOPI_DEVICE double factor(int64_t i, int64_t c) const {
        const double own = indices != nullptr ? (indices[i].value == c ? 1.0 : 0.0)
                                              : static_cast<double>(probabilities[sizes.first(i) + c * sizes.places]);
        return ((1 - smoothing) * own + smoothing / static_cast<double>(sizes.classes)) * weight(c);
    }

    // The logarithm of the sum of exponentials of the logits.
    DIOPI_DEVICE double normaliser(const Group& group, int64_t i) const {
        T top = lowest<T>();
        for (int64_t c = group.thread(); c < sizes.classes; c += group.size()) {
            top = maximum(top, logit(i, c));
        }
        top = group.reduce(top, [](T a, T b) { return maximum(a, b); });
        double sum = 0;
        for (int64_t c = group.thread(); c < sizes.classes; c += group.size()) {
            sum += static_cast<double>(exp(logit(i, c) - top));
        }
        return static_cast<double>(top) + numeric::log(group.sum(sum));
    }
};

template <typename T>
void entropy_samples(const Entropy<T>& entropy, double* losses, double* shares) {
    const Sizes sizes = entropy.sizes;
    for_groups(sizes.count, threads_for(sizes.classes), 0, [=] DIOPI_KERNEL(Group & group, int64_t i) {
        const double total = entropy.normaliser(group, i);
        double sum = 0;
        for (int64_t c = group.thread(); entropy.counts(i) && c < sizes.classes; c += group.size()) {
            // Classes that do not count are left out, so that a logit of -inf there does no harm.
            const double own = entropy.factor(i, c);
            sum -= own != 0 ? own * (static_cast<double>(entropy.logit(i, c)) - total) : 0.0;
        }
        sum = group.sum(sum);
        if (group.thread() == 0) {
            losses[i] = sum;
            shares[i] = entropy.share(i);
        }
    });
}

template <typename T>
void entropy_shares(const Entropy<T>& entropy, double* shares) {
    for_each(entropy.sizes.count, [=] DIOPI_KERNEL(int64_t i) { shares[i] = entropy.share(i); });
}

template <typename T>
void entropy_slopes(const Entropy<T>& entropy, T* gradient, const T* incoming, const double* divisor) {
    const Sizes sizes = entropy.sizes;
    for_groups(sizes.count, threads_for(sizes.classes), 0, [=] DIOPI_KERNEL(Group & group, int64_t i) {
        const double total = entropy.normaliser(group, i);
        double factors = 0;
        for (int64_t c = group.thread(); c < sizes.classes; c += group.size()) {
            factors += entropy.factor(i, c);
        }
        factors = group.sum(factors);
        const double arriving = static_cast<double>(incoming[i]) / (divisor != nullptr ? *divisor : 1.0);
        for (int64_t c = group.thread(); c < sizes.classes; c += group.size()) {
            const auto share =
                static_cast<double>(exp(static_cast<T>(static_cast<double>(entropy.logit(i, c)) - total)));
            const double slope = factors * share - entropy.factor(i, c);
            gradient[sizes.first(i) + c * sizes.places] = entropy.counts(i) ? static_cast<T>(slope * arriving) : T(0);
        }
    });
}

// The operands of a problem on the device.
template <typename T>
class EntropyInputs {
  public:
    explicit EntropyInputs(const CrossEntropyProblem& problem)
        : problem_(problem),
          logits_(problem.input),
          weights_(problem.weight),
          indices_(problem.has_indices ? problem.target : Tensor()),
          probabilities_(problem.has_indices ? Tensor() : problem.target) {
        if (problem.has_indices) {
            require_indices(indices_.data(), Sizes(problem.sizes), problem.ignored, kCrossEntropyIndexRule);
        }
    }
    Entropy<T> entropy() const {
        return {Sizes(problem_.sizes), logits_.data(),   weights_.data(),         indices_.data(),
                probabilities_.data(), problem_.ignored, problem_.label_smoothing};
    }

  private:
    const CrossEntropyProblem& problem_;
    Input<T> logits_;
    Input<T> weights_;
    Input<Int64> indices_;
    Input<T> probabilities_;
};

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

using cuda::SampleValues;
using cuda::Sizes;

void nll_losses(const Tensor& out, const Tensor& total_weight, const Tensor& input, const Tensor& target,
                const Tensor& weight, const Classes& classes, diopiReduction_t reduction, int64_t ignored) {
    const Sizes sizes(classes);
    const Input<Int64> wanted(target);
    cuda::require_indices(wanted.data(), sizes, ignored, kNllIndexRule);
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(input);
        const Input<T> weights(weight);
        const Output<T> result(out);
        const Output<T> total(total_weight, 1);
        const SampleValues losses(sizes.count);
        const SampleValues shares(sizes.count);
        const SampleValues totals(2);
        cuda::nll_samples<T>(sizes, losses.data(), shares.data(), scores.data(), wanted.data(), weights.data(),
                             ignored);
        cuda::finish<T>(result, losses, shares, sizes.count, reduction, totals);
        cuda::write_share<T>(total.data(), totals.data() + 1, reduction != ReductionNone);
        result.store();
        total.store();
    });
}

void nll_gradients(const Tensor& grad_input, const Tensor& grad_output, const Tensor& input, const Tensor& target,
                   const Tensor& weight, const Tensor& total_weight, const Classes& classes, diopiReduction_t reduction,
                   int64_t ignored) {
    const Sizes sizes(classes);
    const Input<Int64> wanted(target);
    cuda::require_indices(wanted.data(), sizes, ignored, kNllIndexRule);
    const View incoming_view = expanded(grad_output, classes.without);
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(input);
        const Input<T> incoming(incoming_view.tensor());
        const Input<T> weights(weight);
        const Input<T> given(total_weight);
        const Output<T> result(grad_input);
        const bool is_mean = reduction == ReductionMean;
        const SampleValues losses(sizes.count);
        const SampleValues shares(sizes.count);
        const SampleValues total(1);
        if (is_mean && total_weight.is_null()) {
            cuda::nll_samples<T>(sizes, losses.data(), shares.data(), scores.data(), wanted.data(), weights.data(),
                                 ignored);
            cuda::add_up(total.data(), shares.data(), sizes.count);
        }
        cuda::nll_slopes<T>(sizes, result.data(), incoming.data(), wanted.data(), weights.data(), ignored,
                            is_mean ? total.data() : nullptr, is_mean ? given.data() : nullptr);
        result.store();
    });
}

void cross_entropy_losses(const Tensor& out_tensor, const CrossEntropyProblem& problem) {
    dispatch_compute<kFloating>(problem.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const cuda::EntropyInputs<T> inputs(problem);
        const int64_t count = problem.sizes.count();
        const Output<T> result(out_tensor);
        const SampleValues losses(count);
        const SampleValues shares(count);
        const SampleValues totals(2);
        cuda::entropy_samples<T>(inputs.entropy(), losses.data(), shares.data());
        cuda::finish<T>(result, losses, shares, count, problem.reduction, totals);
        result.store();
    });
}

void cross_entropy_gradients(const Tensor& gradient_tensor, const Tensor& incoming_tensor,
                             const CrossEntropyProblem& problem) {
    const View incoming_view = expanded(incoming_tensor, problem.sizes.without);
    dispatch_compute<kFloating>(problem.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const cuda::EntropyInputs<T> inputs(problem);
        const int64_t count = problem.sizes.count();
        const Input<T> incoming(incoming_view.tensor());
        const Output<T> result(gradient_tensor);
        const SampleValues shares(count);
        const SampleValues total(1);
        const bool is_mean = problem.reduction == ReductionMean;
        if (is_mean) {
            cuda::entropy_shares<T>(inputs.entropy(), shares.data());
            cuda::add_up(total.data(), shares.data(), count);
        }
        cuda::entropy_slopes<T>(inputs.entropy(), result.data(), incoming.data(), is_mean ? total.data() : nullptr);
        result.store();
    });
}

}  // namespace diopi::cpu
