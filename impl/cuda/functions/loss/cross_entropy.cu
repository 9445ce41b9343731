// CrossEntropyLoss and its gradient. The exponentials of the logits are added up as softmax does; then the loss of a
// sample needs one logit, unless the target has probabilities or labels are smoothed.
#include "diopi_cuda/rows.h"
#include "entropy.h"

namespace diopigen::cuda {

namespace {

// What both kernels of gradients get: `factors` is null where targets are simple.
template <typename S>
struct SlopeJob {
    Entropy<S> entropy;
    S* to;
    const double* factors;
    const S* grad_out;
    int64_t stride;  // 0: one gradient for all samples
    const double* divisor;

    // What comes in for the loss of a sample.
    DIOPI_DEVICE Computed<S> grad_value(int64_t i) const {
        const auto own = static_cast<double>(static_cast<Computed<S>>(grad_out[i * stride]));
        return static_cast<Computed<S>>(own / (divisor != nullptr ? *divisor : 1.0));
    }
    DIOPI_DEVICE SampleSlope<S> of(int64_t i) const { return SampleSlope<S>(entropy, i, factors, grad_value(i)); }
};

template <typename S, int n>
struct SlopesOfRows {
    using T = Computed<S>;

    SlopeJob<S> job;
    RowParts parts;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const SampleSlope<S> slope = job.of(parts.row(k));
        const int64_t begin = parts.begin(k);
        const int64_t first = parts.row(k) * parts.length + begin;
        for_row_vectors<S, n>(group, job.entropy.logits + first, parts.size(k), [&](T* values, int at) {
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                values[i] = slope(values[i], begin + at + i, first + at + i);
            }
            store_vector<S, n>(job.to + first + at, values);
        });
    }
};

// Samples with one class each whose logits fit in registers: read once, with the sum of their exponentials on the way.
template <typename S, int n>
struct SlopesOfHeldRows {
    using T = Computed<S>;
    static constexpr int kHeld = n == 1 ? 16 : sizeof(S) == 2 ? 4 : 8;

    SlopeJob<S> job;
    RowTiles rows;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const ThreadTile tile(group, rows.tile);
        const int64_t row = rows.row(group, k);
        const int length = rows.length_of(row);
        T x[kHeld * n];
        load_row<S, n, kHeld>(x, job.entropy.logits + row * rows.length, length, tile, lowest<T>());
        T top = x[0];
        DIOPI_UNROLL
        for (int i = 1; i < kHeld * n; ++i) {
            top = larger(top, x[i]);
        }
        top = tile.reduce(top, [](T a, T b) { return larger(a, b); });
        DIOPI_UNROLL
        for (int i = 0; i < kHeld * n; ++i) {
            x[i] = exponential<S>(x[i] - top);
        }
        const T inverse_sum = T(1) / static_cast<T>(tile.sum(sum_of<n, kHeld>(x)));
        if (row >= rows.rows) {
            return;
        }
        const Targets<S>& targets = job.entropy.targets;
        const bool counts = targets.counts(row);
        const int64_t class_index = counts ? targets.indices[row].value : -1;
        const T weight = counts ? static_cast<T>(targets.weight(class_index)) * job.grad_value(row) : T(0);
        DIOPI_UNROLL
        for (int v = 0; v < kHeld; ++v) {
            const int at = (v * tile.size() + tile.thread()) * n;
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                T& own = x[v * n + i];
                own = counts ? (own * inverse_sum - (at + i == class_index ? T(1) : T(0))) * weight : T(0);
            }
        }
        store_row<S, n, kHeld>(job.to + row * rows.length, x, length, tile);
    }
};

// Neighbouring threads take neighbouring samples; several split the classes of one.
template <typename S>
struct SlopesOfColumns {
    SlopeJob<S> job;
    Columns columns;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int width = columns.width(group);
        const int64_t sample = k * width + group.thread() % width;
        if (sample >= columns.count) {
            return;
        }
        const SampleSlope<S> slope = job.of(sample);
        const int64_t first = columns.first(sample);
        DIOPI_AHEAD
        for (int64_t c = group.thread() / width; c < columns.size; c += columns.slices) {
            const int64_t at = first + c * columns.inner;
            job.to[at] = static_cast<S>(slope(static_cast<Computed<S>>(job.entropy.logits[at]), c, at));
        }
    }
};

// The operands of a problem on the device, with the exponentials of its logits.
template <typename S>
class EntropyInputs {
  public:
    explicit EntropyInputs(const CrossEntropyProblem& problem)
        : sizes_(problem.sizes),
          logits_(problem.input),
          weights_(problem.weight),
          indices_(problem.has_indices ? problem.target : Tensor()),
          probabilities_(problem.has_indices ? Tensor() : problem.target),
          sums_(sizes_.count),
          ignored_(problem.ignored),
          smoothing_(problem.label_smoothing) {
        if (problem.has_indices) {
            require_indices(indices_.data(), sizes_, problem.ignored, kCrossEntropyIndexRule);
        }
    }
    // Adds up the exponentials of all samples.
    void add_exponentials() const {
        if (entropy().by_groups()) {
            exponentials_of_rows<S>(sums_.data(), logits_.data(), sizes_.count, sizes_.classes);
        } else {
            exponentials_of_columns<S>(sums_.data(), logits_.data(), split());
        }
    }
    DimSplit split() const { return {sizes_.count / std::max<int64_t>(1, sizes_.inner), sizes_.classes, sizes_.inner}; }
    Entropy<S> entropy() const {
        return {sizes_,
                logits_.data(),
                {indices_.data(), weights_.data(), ignored_},
                probabilities_.data(),
                1 - smoothing_,
                smoothing_ / static_cast<double>(sizes_.classes),
                sums_.data()};
    }

  private:
    Sizes sizes_;
    Input<S> logits_;
    Input<S> weights_;
    Input<Int64> indices_;
    Input<S> probabilities_;
    SampleRoom<Exponentials> sums_;
    int64_t ignored_;
    double smoothing_;
};

// Whether the kernel that needs no sums could do the work, and did.
template <typename S>
bool write_slopes_of_held_rows(const SlopeJob<S>& job) {
    const Sizes& sizes = job.entropy.sizes;
    bool done = false;
    if (job.entropy.is_simple() && job.entropy.by_groups()) {
        dispatch_vectors<S>(can_vectorize<S>(sizes.classes, {job.to, job.entropy.logits}), [&](auto width) {
            using Kernel = SlopesOfHeldRows<S, decltype(width)::value>;
            const RowTiles rows(sizes.count, sizes.classes, decltype(width)::value, Kernel::kHeld);
            done = rows.fits;
            if (done) {
                for_groups(rows.groups(), rows.threads, 0, Kernel{job, rows});
            }
        });
    }
    return done;
}

template <typename S>
void write_slopes(const SlopeJob<S>& job, const DimSplit& split) {
    const Sizes& sizes = job.entropy.sizes;
    if (job.entropy.by_groups()) {
        const bool is_vectorized = can_vectorize<S>(sizes.classes, {job.to, job.entropy.logits});
        dispatch_vectors<S>(is_vectorized, [&](auto width) {
            constexpr int n = decltype(width)::value;
            const RowParts parts(sizes.count, sizes.classes);
            // Four accesses for each thread.
            const int threads = threads_for(std::min(sizes.classes, RowParts::kPart) / (4 * n));
            for_groups(parts.count(), threads, 0, SlopesOfRows<S, n>{job, parts});
        });
    } else {
        const Columns columns(split);
        for_groups(columns.groups(), kThreads, 0, SlopesOfColumns<S>{job, columns});
    }
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void cross_entropy_losses(const Tensor& out_tensor, const CrossEntropyProblem& problem) {
    dispatch<kFloating>(problem.input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const cuda::EntropyInputs<S> inputs(problem);
        inputs.add_exponentials();
        const cuda::Entropy<S> entropy = inputs.entropy();
        const int64_t count = entropy.sizes.count;
        const Output<S> result(out_tensor);
        if (entropy.is_simple()) {
            cuda::add_up_samples<S>(count, cuda::SimpleLoss<S>{entropy}, problem.reduction, result.data(), nullptr,
                                    nullptr);
        } else {
            const cuda::SampleRoom<double> losses(count);
            const cuda::SampleRoom<double> factors(count);
            cuda::full_samples<S>(entropy, losses.data(), factors.data());
            cuda::add_up_samples<S>(count, cuda::KnownLoss<S>{entropy.targets, losses.data()}, problem.reduction,
                                    result.data(), nullptr, nullptr);
        }
        result.store();
    });
}

void cross_entropy_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor,
                             const CrossEntropyProblem& problem) {
    // One gradient for all samples is not spread out.
    const bool is_single = grad_out_tensor.numel == 1;
    const View grad_out_view = is_single ? expanded(grad_out_tensor, shape_of(grad_out_tensor))
                                         : expanded(grad_out_tensor, problem.sizes.without);
    dispatch<kFloating>(problem.input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const cuda::EntropyInputs<S> inputs(problem);
        const cuda::Entropy<S> entropy = inputs.entropy();
        const int64_t count = entropy.sizes.count;
        const Input<S> grad_out(grad_out_view.tensor());
        const Output<S> result(gradient_tensor);
        const bool is_mean = problem.reduction == ReductionMean;
        const cuda::SampleRoom<double> divisor(1);
        if (is_mean) {
            cuda::add_up_samples<S>(count, cuda::MeanWeightAlone<S>{entropy.targets}, ReductionSum, nullptr, nullptr,
                                    divisor.data());
        }
        cuda::SlopeJob<S> job{entropy,         result.data(),     nullptr,
                              grad_out.data(), is_single ? 0 : 1, is_mean ? divisor.data() : nullptr};
        if (!cuda::write_slopes_of_held_rows<S>(job)) {
            inputs.add_exponentials();
            const bool is_simple = entropy.is_simple();
            const cuda::SampleRoom<double> losses(is_simple ? 0 : count);
            const cuda::SampleRoom<double> factors(is_simple ? 0 : count);
            if (!is_simple) {
                cuda::full_samples<S>(entropy, losses.data(), factors.data());
                job.factors = factors.data();
            }
            cuda::write_slopes<S>(job, inputs.split());
        }
        result.store();
    });
}

}  // namespace diopigen::core
