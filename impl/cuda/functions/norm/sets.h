// Elements that are normalised together, and the kernels over them: statistics, results and gradients, in double.
//
//   rows       set s is the row s of `length` elements; a weight for each position in the row
//   groups     the same, with a weight for each channel of a sample
//   channels   set c is channel c of all samples; its weight is that of the channel
#ifndef DIOPI_CUDA_NORM_SETS_H_
#define DIOPI_CUDA_NORM_SETS_H_

#include "diopi_cpu/dense.h"
#include "diopi_cuda/launch.h"
#include "norm/kernels.h"

namespace diopi::cuda {

struct Sets {
    enum class Kind { kRows, kGroups, kChannels };

    Kind kind;
    int64_t count;
    int64_t length;
    int64_t channels = 1;    // in a sample
    int64_t width = 1;       // channels in a set
    int64_t per_sample = 1;  // sets in a sample
    int64_t spatial = 1;

    static Sets rows(const Trailing& parts) { return {Kind::kRows, parts.rows, parts.length}; }
    static Sets groups(const Groups& groups) {
        return {Kind::kGroups, groups.count(),    groups.length,          groups.channels.count,
                groups.width,  groups.per_sample, groups.channels.spatial};
    }
    static Sets of_channels(const Channels& channels) {
        return {Kind::kChannels, channels.count,  channels.elements(), channels.count, 1,
                channels.count,  channels.spatial};
    }

    // Where element i of a set lies, and the number of its weight.
    DIOPI_DEVICE int64_t place(int64_t set, int64_t i) const {
        return kind == Kind::kChannels ? (i / spatial * channels + set) * spatial + i % spatial : set * length + i;
    }
    DIOPI_DEVICE int64_t weight(int64_t set, int64_t i) const {
        return kind == Kind::kRows ? i : kind == Kind::kChannels ? set : set % per_sample * width + i / spatial;
    }
};

// The mean of each set, or 0 where `centred` is false, and the squares around it over its length.
template <typename T>
void statistics(const Sets& sets, const T* x, bool centred, double* means, double* variances) {
    for_groups(sets.count, threads_for(sets.length), 0, [=] DIOPI_KERNEL(Group & group, int64_t set) {
        const auto count = static_cast<double>(sets.length);
        double mean = 0;
        if (centred) {
            double sum = 0;
            for (int64_t i = group.thread(); i < sets.length; i += group.size()) {
                sum += static_cast<double>(x[sets.place(set, i)]);
            }
            mean = group.sum(sum) / count;
        }
        double squares = 0;
        for (int64_t i = group.thread(); i < sets.length; i += group.size()) {
            const double distance = static_cast<double>(x[sets.place(set, i)]) - mean;
            squares += distance * distance;
        }
        squares = group.sum(squares);
        if (group.thread() == 0) {
            means[set] = mean;
            variances[set] = squares / count;
        }
    });
}

// invstd = 1 / sqrt(variance + eps), in place.
inline void invert_deviations(double* variances, int64_t count, double eps) {
    for_each(count, [=] DIOPI_KERNEL(int64_t k) { variances[k] = 1 / numeric::sqrt(variances[k] + eps); });
}

// y = (x - mean) * invstd * scale + shift. Null ones are 1 and 0.
template <typename T, typename W>
void normalise(const Sets& sets, T* y, const T* x, const double* means, const double* deviations, const W* scale,
               const W* shift) {
    for_each(sets.count * sets.length, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t set = k / sets.length;
        const int64_t i = k % sets.length;
        const int64_t at = sets.place(set, i);
        const int64_t w = sets.weight(set, i);
        const double factor = deviations[set] * (scale != nullptr ? static_cast<double>(scale[w]) : 1);
        const double offset = shift != nullptr ? static_cast<double>(shift[w]) : 0;
        y[at] = static_cast<T>((static_cast<double>(x[at]) - means[set]) * factor + offset);
    });
}

// The sums of g * weight and of g * weight * (x - mean) over each set.
template <typename T, typename W>
void set_sums(const Sets& sets, const T* g, const T* x, const W* weight, const double* means, double* sums,
              double* products) {
    for_groups(sets.count, threads_for(sets.length), 0, [=] DIOPI_KERNEL(Group & group, int64_t set) {
        double sum = 0;
        double product = 0;
        for (int64_t i = group.thread(); i < sets.length; i += group.size()) {
            const int64_t at = sets.place(set, i);
            const double own =
                static_cast<double>(g[at]) * (weight != nullptr ? static_cast<double>(weight[sets.weight(set, i)]) : 1);
            sum += own;
            product += own * (static_cast<double>(x[at]) - means[set]);
        }
        sum = group.sum(sum);
        product = group.sum(product);
        if (group.thread() == 0) {
            sums[set] = sum;
            products[set] = product;
        }
    });
}

// result = invstd * (g * weight - (sum + (x - mean) * invstd^2 * product) / count), with the sums of set_sums.
template <typename T, typename W>
void gradients(const Sets& sets, T* result, const T* g, const T* x, const W* weight, const double* means,
               const double* deviations, const double* sums, const double* products, double count) {
    for_each(sets.count * sets.length, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t set = k / sets.length;
        const int64_t i = k % sets.length;
        const int64_t at = sets.place(set, i);
        const double own =
            static_cast<double>(g[at]) * (weight != nullptr ? static_cast<double>(weight[sets.weight(set, i)]) : 1);
        const double invstd = deviations[set];
        const double through_mean = sums != nullptr ? sums[set] / count : 0;
        const double through_deviation =
            (static_cast<double>(x[at]) - means[set]) * invstd * invstd * products[set] / count;
        result[at] = static_cast<T>(invstd * (own - through_mean - through_deviation));
    });
}

// Over all sets, the sums of g * (x - mean) * invstd and of g that belong to each weight.
template <typename T>
void weight_gradients(const Sets& sets, T* scale, T* shift, const T* g, const T* x, const double* means,
                      const double* deviations) {
    if (sets.kind == Sets::Kind::kRows) {
        // One thread for each position: neighbours read neighbours.
        for_each(sets.length, [=] DIOPI_KERNEL(int64_t i) {
            double product = 0;
            double sum = 0;
            for (int64_t set = 0; set < sets.count; ++set) {
                const auto own = static_cast<double>(g[set * sets.length + i]);
                product += own * (static_cast<double>(x[set * sets.length + i]) - means[set]) * deviations[set];
                sum += own;
            }
            scale[i] = static_cast<T>(product);
            shift[i] = static_cast<T>(sum);
        });
        return;
    }
    const int64_t samples = sets.count / sets.per_sample;
    const int64_t length = samples * sets.spatial;
    for_groups(sets.channels, threads_for(length), 0, [=] DIOPI_KERNEL(Group & group, int64_t channel) {
        double product = 0;
        double sum = 0;
        for (int64_t i = group.thread(); i < length; i += group.size()) {
            const int64_t sample = i / sets.spatial;
            const int64_t at = (sample * sets.channels + channel) * sets.spatial + i % sets.spatial;
            const int64_t set = sample * sets.per_sample + channel / sets.width;
            const auto own = static_cast<double>(g[at]);
            product += own * (static_cast<double>(x[at]) - means[set]) * deviations[set];
            sum += own;
        }
        product = group.sum(product);
        sum = group.sum(sum);
        if (group.thread() == 0) {
            scale[channel] = static_cast<T>(product);
            shift[channel] = static_cast<T>(sum);
        }
    });
}

// Room for one double for each set.
class SetValues {
  public:
    explicit SetValues(int64_t count) { memory_.allocate(count * static_cast<int64_t>(sizeof(double))); }
    double* data() const { return static_cast<double*>(memory_.data()); }

  private:
    Buffer memory_;
};

// What all forms of normalisation over rows and groups do, forward and backward.
struct NormTensors {
    const Tensor& out;
    const Tensor& mean;    // null: not asked for
    const Tensor& invstd;  // null: not asked for
    const Tensor& input;
    const Tensor& weight;
    const Tensor& bias;
};
void normalise(const Sets& sets, const NormTensors& tensors, bool centred, double eps);

struct NormGradients {
    const Tensor& input_gradient;
    const Tensor& weight_gradient;
    const Tensor& bias_gradient;
    const Tensor& incoming;
    const Tensor& input;
    const Tensor& weight;
};
// `means` null: not centred.
void propagate(const Sets& sets, const NormGradients& tensors, const double* means, const double* deviations);

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_NORM_SETS_H_
