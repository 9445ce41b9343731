// Layers of detectors and generators over channels, for the libraries of all devices: bias with leaky ReLU, the steps
// of synchronized batch normalization, shifts along time. `Each` is how a library calls an object for all owners of
// results: each(count, cost, body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_CHANNEL_LAYERS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_CHANNEL_LAYERS_H_

#include <algorithm>

#include "detection.h"
#include "detection/numbers.h"
#include "diopi_core/dense.h"
#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::core {

// ---- Bias and activation. ----

// A row is a channel of an image: a factor for elements of positive sign, one for the others, and one for all. Computes
// in double.
template <typename T>
struct BiasLeakyRelu {
    T* to;
    const T* from;
    const T* bias;   // of each channel; null for none
    const T* signs;  // null for those of the sums with the bias
    int64_t channels;
    int64_t inner;
    double of_positive;
    double of_other;
    double scale;

    struct Row {
        T* to;
        const T* from;
        const T* signs;
        double bias;
        double of_positive;
        double of_other;
        double scale;

        DIOPI_HOST_DEVICE void operator()(int64_t i) const {
            const double x = static_cast<double>(from[i]) + bias;
            const double sign = signs == nullptr ? x : static_cast<double>(signs[i]);
            to[i] = static_cast<T>(x * (sign > 0 ? of_positive : of_other) * scale);
        }
    };

    DIOPI_HOST_DEVICE Row row(int64_t k) const {
        const int64_t first = k * inner;
        return {to + first,
                from + first,
                signs == nullptr ? nullptr : signs + first,
                bias == nullptr ? 0 : static_cast<double>(bias[k % channels]),
                of_positive,
                of_other,
                scale};
    }
};

template <typename Each>
void bias_leaky_relu(const Each& each, const entry::FusedBiasLeakyreluMmcvArgs& args) {
    constexpr int64_t kLeaky = 3;
    constexpr int64_t kSecondDerivative = 2;
    const Tensor out = new_tensor(args.ctx, "out", shape_of(args.input), args.input.dtype, args.input);
    *args.out = out.handle;
    if (args.grad == kSecondDerivative) {
        fill(out, Number::of(0.0 * args.scale));
        return;
    }
    const DimSplit split = split_at(shape_of(args.input), 1);
    const double of_other = args.act == kLeaky ? args.alpha : 1;
    // The derivative has the signs of results, which are zeros where they are not given.
    const bool has_signs = args.grad == 1 && args.refer.numel != 0;
    const double of_positive = args.grad == 1 && !has_signs ? of_other : 1;
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> from(args.input);
        const Input<T> bias(args.bias);
        const Input<T> refer(args.refer);
        const Output<T> to(out);
        const T* const shift = args.bias.numel == 0 ? nullptr : bias.data();
        const T* const signs = has_signs ? refer.data() : nullptr;
        each.rows(out.numel / std::max<int64_t>(split.inner, 1), split.inner, 4,
                  BiasLeakyRelu<T>{to.data(), from.data(), shift, signs, split.size, split.inner, of_positive, of_other,
                                   args.scale});
        to.store();
    });
}

// ---- Synchronized batch normalization: elements [samples, channels, inner]. ----

struct ChannelSizes {
    int64_t samples;
    int64_t channels;
    int64_t inner;

    explicit ChannelSizes(const Tensor& elements)
        : samples(elements.shape[0]), channels(elements.shape[1]), inner(elements.shape[2]) {}
    // How many elements a channel has.
    DIOPI_HOST_DEVICE int64_t count() const { return samples * inner; }
    // The element of a channel with this number.
    DIOPI_HOST_DEVICE int64_t element(int64_t channel, int64_t i) const {
        return (i / inner * channels + channel) * inner + i % inner;
    }
    DIOPI_HOST_DEVICE int64_t channel(int64_t element) const { return element / inner % channels; }
};

// An owner for each channel, of which there is no number: the mean of none is NaN.
struct ChannelMean {
    double* to;
    const double* from;
    ChannelSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t channel) const {
        double sum = 0;
        for (int64_t i = 0; i < sizes.count(); ++i) {
            sum += from[sizes.element(channel, i)];
        }
        to[channel] = sum / static_cast<double>(sizes.count());
    }
};

struct ChannelVariance {
    double* to;
    const double* from;
    const double* mean;
    ChannelSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t channel) const {
        double sum = 0;
        for (int64_t i = 0; i < sizes.count(); ++i) {
            const double distance = from[sizes.element(channel, i)] - mean[channel];
            sum += distance * distance;
        }
        to[channel] = sum / static_cast<double>(sizes.count());
    }
};

template <typename Each>
void channel_mean(const Each& each, const entry::SyncBnMeanMmcvArgs& args) {
    require_apart(args.mean, {&args.input});
    const ChannelSizes sizes(args.input);
    const Input<double> from(args.input);
    const Output<double> to(args.mean);
    each(sizes.channels, sizes.count(), ChannelMean{to.data(), from.data(), sizes});
    to.store();
}

template <typename Each>
void channel_variance(const Each& each, const entry::SyncBnVarMmcvArgs& args) {
    require_apart(args.var, {&args.input, &args.mean});
    const ChannelSizes sizes(args.input);
    const Input<double> from(args.input);
    const Input<double> mean(args.mean);
    const Output<double> to(args.var);
    each(sizes.channels, sizes.count(), ChannelVariance{to.data(), from.data(), mean.data(), sizes});
    to.store();
}

// An owner for each element.
struct NormalizeElement {
    double* norm;
    double* to;
    const double* from;
    const double* mean;
    const double* var;
    const double* weight;  // null for 1
    const double* bias;    // null for 0
    double eps;
    ChannelSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t channel = sizes.channel(at);
        const double x = (from[at] - mean[channel]) / numeric::sqrt(var[channel] + eps);
        norm[at] = x;
        to[at] = weight == nullptr ? x : x * weight[channel] + bias[channel];
    }
};

// An owner for each channel.
struct MoveStatistics {
    double* std;
    double* running_mean;  // null where none is kept
    double* running_var;
    const double* mean;
    const double* var;
    double eps;
    double momentum;
    double unbiased;  // factor on the variance

    DIOPI_HOST_DEVICE void operator()(int64_t channel) const {
        std[channel] = numeric::sqrt(var[channel] + eps);
        if (running_mean != nullptr) {
            running_mean[channel] = momentum * mean[channel] + (1 - momentum) * running_mean[channel];
            running_var[channel] = momentum * unbiased * var[channel] + (1 - momentum) * running_var[channel];
        }
    }
};

template <typename Each>
void normalize_channels(const Each& each, const entry::SyncBnOutputMmcvArgs& args) {
    require_separate({&args.running_mean, &args.running_var, &args.norm, &args.std, &args.output},
                     {&args.mean, &args.var, &args.weight, &args.bias});
    const ChannelSizes sizes(args.input);
    const Input<double> from(args.input);
    const Input<double> mean(args.mean);
    const Input<double> var(args.var);
    const Input<double> weight(args.weight);
    const Input<double> bias(args.bias);
    const Output<double> norm(args.norm, args.input.numel);
    const Output<double> std(args.std, sizes.channels);
    const Output<double> to(args.output);
    const Sums running_mean(args.running_mean);
    const Sums running_var(args.running_var);
    const double count = static_cast<double>(sizes.count()) * static_cast<double>(args.group_size);
    each(args.input.numel, 16,
         NormalizeElement{norm.data(), to.data(), from.data(), mean.data(), var.data(), weight.data(), bias.data(),
                          args.eps, sizes});
    each(sizes.channels, 16,
         MoveStatistics{std.data(), running_mean.data(), running_var.data(), mean.data(), var.data(), args.eps,
                        args.momentum, count > 1 ? count / (count - 1) : 1});
    norm.store();
    std.store();
    to.store();
    running_mean.store();
    running_var.store();
}

// An owner for each channel.
struct ChannelSums {
    double* of_products;
    double* of_gradients;
    const double* gradient;
    const double* norm;
    ChannelSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t channel) const {
        double products = 0;
        double gradients = 0;
        for (int64_t i = 0; i < sizes.count(); ++i) {
            const int64_t at = sizes.element(channel, i);
            products += gradient[at] * norm[at];
            gradients += gradient[at];
        }
        of_products[channel] = products;
        of_gradients[channel] = gradients;
    }
};

template <typename Each>
void parameter_gradients(const Each& each, const entry::SyncBnBackwardParamMmcvArgs& args) {
    require_separate({&args.grad_weight, &args.grad_bias}, {&args.grad_output, &args.norm});
    const ChannelSizes sizes(args.grad_output);
    const Input<double> gradient(args.grad_output);
    const Input<double> norm(args.norm);
    const Output<double> of_weight(args.grad_weight);
    const Output<double> of_bias(args.grad_bias);
    each(sizes.channels, sizes.count(),
         ChannelSums{of_weight.data(), of_bias.data(), gradient.data(), norm.data(), sizes});
    of_weight.store();
    of_bias.store();
}

// An owner for each element.
struct NormalizeGradient {
    double* to;
    const double* gradient;
    const double* weight;
    const double* of_weight;
    const double* of_bias;
    const double* norm;
    const double* std;
    ChannelSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t channel = sizes.channel(at);
        const double through = (of_weight[channel] * norm[at] + of_bias[channel]) / static_cast<double>(sizes.count());
        to[at] = weight[channel] / std[channel] * (gradient[at] - through);
    }
};

template <typename Each>
void data_gradients(const Each& each, const entry::SyncBnBackwardDataMmcvArgs& args) {
    require_apart(args.grad_input, {&args.weight, &args.grad_weight, &args.grad_bias, &args.std});
    const Input<double> gradient(args.grad_output);
    const Input<double> weight(args.weight);
    const Input<double> of_weight(args.grad_weight);
    const Input<double> of_bias(args.grad_bias);
    const Input<double> norm(args.norm);
    const Input<double> std(args.std);
    const Output<double> to(args.grad_input);
    each(args.grad_output.numel, 8,
         NormalizeGradient{to.data(), gradient.data(), weight.data(), of_weight.data(), of_bias.data(), norm.data(),
                           std.data(), ChannelSizes(args.grad_output)});
    to.store();
}

// ---- Shifts along time: [videos, steps, channels, pixels]. ----

// An owner for each element that is moved.
template <typename W>
struct ShiftElement {
    W* to;
    const W* from;
    const Int64* shift;  // [videos, groups]
    int64_t steps;
    int64_t channels;
    int64_t inner;
    int64_t groups;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t channel = at / inner % channels;
        const int64_t step = at / (inner * channels) % steps;
        const int64_t video = at / (inner * channels * steps);
        const int64_t by = shift[video * groups + channel / (channels / groups)].value;
        if (step + by >= 0 && step + by < steps) {
            to[at + by * channels * inner] = from[at];
        }
    }
};

template <typename Each>
void shift_along_time(const Each& each, const Tensor& out, const Tensor& input, const Tensor& shift) {
    require_apart(out, {&input, &shift});
    const Input<Int64> by(shift);
    dispatch_word(input.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(input);
        const Changed to(out, out.dtype);
        each(input.numel, 4,
             ShiftElement<W>{to.as<W>(), from.as<W>(), by.data(), input.shape[1], input.shape[2], input.shape[3],
                             shift.shape[1]});
        to.store();
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_CHANNEL_LAYERS_H_
