// What follows from the sums of a channel of all samples: statistics, running ones, and what scales its elements or
// their gradients. Everything in double.
#ifndef DIOPI_CUDA_NORM_CHANNEL_RESULTS_H_
#define DIOPI_CUDA_NORM_CHANNEL_RESULTS_H_

#include "sums.h"
#include "values.h"

namespace diopigen::cuda {

// What scales the elements of a channel.
struct ChannelFactors {
    Values weight;  // missing: 1
    Values bias;    // missing: 0

    template <typename S>
    DIOPI_DEVICE Scaling<S> scaling(int64_t c, double mean, double invstd) const {
        using T = Computed<S>;
        return {Centre<S>(mean), static_cast<T>(invstd * weight.get_or(c, 1)), static_cast<T>(bias.get_or(c, 0))};
    }
};

// The statistics that a network keeps from batch to batch; may be missing.
struct Running {
    Values old_mean;
    Values old_variance;
    Values mean;
    Values variance;

    // `new_weight` is the weight of the new ones. The variance that is stored is the unbiased one.
    DIOPI_DEVICE void update(int64_t c, double new_mean, double squares, double count, double new_weight) const {
        if (mean.is_there()) {
            mean.set(c, (1 - new_weight) * old_mean.get(c) + new_weight * new_mean);
            variance.set(c, (1 - new_weight) * old_variance.get(c) + new_weight * squares / (count - 1));
        }
    }
};

class RunningTensors {
  public:
    RunningTensors(const Tensor& mean, const Tensor& variance)
        : old_mean_(mean), old_variance_(variance), mean_(mean), variance_(variance) {}
    Running values() const { return {old_mean_.values(), old_variance_.values(), mean_.values(), variance_.values()}; }
    void store() const {
        mean_.store();
        variance_.store();
    }

  private:
    InputValues old_mean_;
    InputValues old_variance_;
    OutputValues mean_;
    OutputValues variance_;
};

// From the moments of the parts of each channel.
template <typename S>
struct FinishChannel {
    const Moments* states;
    int64_t parts;
    Scaling<S>* scalings;  // may be null
    ChannelFactors factors;
    Values means;
    Values invstds;
    Running running;
    double new_weight;
    double eps;

    DIOPI_DEVICE void operator()(const Group& group, int64_t c) const {
        const Moments own = join_parts(group, states, c, parts, JoinMoments());
        if (group.thread() == 0) {
            const double invstd = 1 / numeric::sqrt(own.variance() + eps);
            means.set_if_there(c, own.mean);
            invstds.set_if_there(c, invstd);
            running.update(c, own.mean, own.squares, own.count, new_weight);
            if (scalings != nullptr) {
                scalings[c] = factors.scaling<S>(c, own.mean, invstd);
            }
        }
    }
};

// From statistics that are provided: deviations, or variances.
template <typename S>
struct KnownChannel {
    Values mean;
    Values spread;
    bool is_variance;
    Scaling<S>* scalings;
    ChannelFactors factors;
    Values means;    // what is written; may be missing
    Values invstds;  // likewise
    double eps;

    DIOPI_DEVICE void operator()(int64_t c) const {
        const double middle = mean.get(c);
        const double invstd = is_variance ? 1 / numeric::sqrt(spread.get(c) + eps) : spread.get(c);
        means.set_if_there(c, middle);
        invstds.set_if_there(c, invstd);
        scalings[c] = factors.scaling<S>(c, middle, invstd);
    }
};

// The gradients of a channel, from the sums of its parts.
template <typename S>
struct FinishChannelSlope {
    const Sums* states;
    int64_t parts;
    Slope<S>* slopes;
    Values weight;
    Values means;
    Values spreads;
    bool training;  // spreads are deviations, and statistics depend on the elements
    double count;
    double eps;
    Values scale;
    Values shift;

    DIOPI_DEVICE void operator()(const Group& group, int64_t c) const {
        const Sums own = join_parts(group, states, c, parts, JoinSums());
        if (group.thread() == 0) {
            const double invstd = training ? spreads.get(c) : 1 / numeric::sqrt(spreads.get(c) + eps);
            const double factor = weight.get_or(c, 1);
            scale.set_if_there(c, own.product * invstd);
            shift.set_if_there(c, own.own);
            const Sums sums = training ? Sums{own.own * factor, own.product * factor} : Sums();
            slopes[c] = slope_of<S>(means.get(c), invstd, factor, sums, training ? count : 1, true);
        }
    }
};

struct WriteChannelSums {
    const Sums* states;
    int64_t parts;
    Values invstds;
    Values sums;
    Values products;
    Values scale;
    Values shift;

    DIOPI_DEVICE void operator()(const Group& group, int64_t c) const {
        const Sums own = join_parts(group, states, c, parts, JoinSums());
        if (group.thread() == 0) {
            sums.set_if_there(c, own.own);
            products.set_if_there(c, own.product);
            shift.set_if_there(c, own.own);
            if (scale.is_there()) {
                scale.set(c, own.product * invstds.get(c));
            }
        }
    }
};

// The gradients of a channel from sums over all devices, with the number of all elements in `counts`.
template <typename S>
struct SlopeOfSums {
    Slope<S>* slopes;
    Values weight;
    Values means;
    Values invstds;
    Values sums;
    Values products;
    Values counts;
    int64_t parts;

    DIOPI_DEVICE void operator()(int64_t c) const {
        double total = 0;
        for (int64_t part = 0; part < parts; ++part) {
            total += counts.get(part);
        }
        const double factor = weight.get_or(c, 1);
        slopes[c] = slope_of<S>(means.get(c), invstds.get(c), factor, {sums.get(c) * factor, products.get(c) * factor},
                                total, true);
    }
};

// The statistics of all parts from those of each, around the common mean.
struct JoinDevices {
    Values part_means;  // [parts, channels]
    Values part_invstds;
    Values sizes;
    int64_t parts;
    int64_t channels;
    Values means;
    Values invstds;
    Running running;
    double new_weight;
    double eps;

    DIOPI_DEVICE void operator()(int64_t c) const {
        double count = 0;
        double sum = 0;
        for (int64_t part = 0; part < parts; ++part) {
            count += sizes.get(part);
            sum += sizes.get(part) * part_means.get(part * channels + c);
        }
        const double mean = sum / count;
        double squares = 0;
        for (int64_t part = 0; part < parts; ++part) {
            const double invstd = part_invstds.get(part * channels + c);
            const double distance = part_means.get(part * channels + c) - mean;
            squares += sizes.get(part) * (1 / (invstd * invstd) - eps + distance * distance);
        }
        means.set_if_there(c, mean);
        invstds.set_if_there(c, 1 / numeric::sqrt(squares / count + eps));
        running.update(c, mean, squares, count, new_weight);
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_CHANNEL_RESULTS_H_
