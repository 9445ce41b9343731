// Layers over windows of feature maps with weights of their own, for the libraries of all devices: CARAFE, correlation
// of two maps, attention masks of PSANet, resampling by a filter. `Each` is how a library calls an object for all
// owners of results: each(count, cost, body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_LOCAL_WINDOWS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_LOCAL_WINDOWS_H_

#include <algorithm>

#include "detection/numbers.h"
#include "detection_mmcv.h"
#include "diopi_core/kernel_checks.h"

namespace diopi::core {

// ---- CARAFE (Wang et al., 2019): features [images, channels, height, width]. ----

// Where features are read: in the order of their dimensions, or with the channels last.
struct FeatureSizes {
    int64_t channels;
    int64_t height;
    int64_t width;
    bool channels_last;

    DIOPI_HOST_DEVICE int64_t at(int64_t image, int64_t channel, int64_t row, int64_t column) const {
        return channels_last ? ((image * height + row) * width + column) * channels + channel
                             : ((image * channels + channel) * height + row) * width + column;
    }
};

struct Carafe {
    FeatureSizes from;
    int64_t window;
    int64_t groups;
    int64_t factor;

    DIOPI_HOST_DEVICE int64_t height() const { return from.height * factor; }
    DIOPI_HOST_DEVICE int64_t width() const { return from.width * factor; }
    DIOPI_HOST_DEVICE int64_t pixels() const { return height() * width(); }
    DIOPI_HOST_DEVICE int64_t group(int64_t channel) const { return channel / (from.channels / groups); }
    // The weight of element k of the window of an enlarged pixel.
    DIOPI_HOST_DEVICE int64_t mask(int64_t image, int64_t group, int64_t k, int64_t pixel) const {
        return ((image * groups + group) * window * window + k) * pixels() + pixel;
    }
    // The row and column of the map that element k of the window of an enlarged pixel is on; maybe outside.
    DIOPI_HOST_DEVICE int64_t row(int64_t pixel, int64_t k) const {
        return pixel / width() / factor + k / window - window / 2;
    }
    DIOPI_HOST_DEVICE int64_t column(int64_t pixel, int64_t k) const {
        return pixel % width() / factor + k % window - window / 2;
    }
    DIOPI_HOST_DEVICE bool has(int64_t row, int64_t column) const {
        return row >= 0 && row < from.height && column >= 0 && column < from.width;
    }
};

// An owner for each enlarged element.
struct Enlarge {
    double* to;
    const double* features;
    const double* masks;
    Carafe by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t pixel = at % by.pixels();
        const int64_t channel = at / by.pixels() % by.from.channels;
        const int64_t image = at / (by.pixels() * by.from.channels);
        double sum = 0;
        for (int64_t k = 0; k < by.window * by.window; ++k) {
            const int64_t row = by.row(pixel, k);
            const int64_t column = by.column(pixel, k);
            if (by.has(row, column)) {
                sum += features[by.from.at(image, channel, row, column)] *
                       masks[by.mask(image, by.group(channel), k, pixel)];
            }
        }
        to[at] = sum;
    }
};

// An owner for each element of the features, in the order of the dimensions: all windows that it is in.
struct AddFeatureGradients {
    double* sums;
    const double* gradient;
    const double* masks;
    Carafe by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t column = at % by.from.width;
        const int64_t row = at / by.from.width % by.from.height;
        const int64_t channel = at / (by.from.width * by.from.height) % by.from.channels;
        const int64_t image = at / (by.from.width * by.from.height * by.from.channels);
        const int64_t planes = (image * by.from.channels + channel) * by.pixels();
        double sum = 0;
        for (int64_t k = 0; k < by.window * by.window; ++k) {
            // The pixel that the window is around.
            const int64_t i = row - k / by.window + by.window / 2;
            const int64_t j = column - k % by.window + by.window / 2;
            if (!by.has(i, j)) {
                continue;
            }
            for (int64_t part = 0; part < by.factor * by.factor; ++part) {
                const int64_t pixel =
                    (i * by.factor + part / by.factor) * by.width() + j * by.factor + part % by.factor;
                sum += gradient[planes + pixel] * masks[by.mask(image, by.group(channel), k, pixel)];
            }
        }
        sums[at] += sum;
    }
};

// An owner for each weight.
struct AddMaskGradients {
    double* sums;
    const double* gradient;
    const double* features;
    Carafe by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t pixel = at % by.pixels();
        const int64_t k = at / by.pixels() % (by.window * by.window);
        const int64_t group = at / (by.pixels() * by.window * by.window) % by.groups;
        const int64_t image = at / (by.pixels() * by.window * by.window * by.groups);
        const int64_t row = by.row(pixel, k);
        const int64_t column = by.column(pixel, k);
        if (!by.has(row, column)) {
            return;
        }
        const int64_t per_group = by.from.channels / by.groups;
        double sum = 0;
        for (int64_t channel = group * per_group; channel < (group + 1) * per_group; ++channel) {
            sum += gradient[(image * by.from.channels + channel) * by.pixels() + pixel] *
                   features[by.from.at(image, channel, row, column)];
        }
        sums[at] += sum;
    }
};

template <typename Args>
Carafe carafe_of(const Args& args, const Tensor& features, bool channels_last) {
    const int64_t* shape = features.shape;
    return {{shape[1], shape[2], shape[3], channels_last}, args.kernel_size, args.group_size, args.scale_factor};
}

template <typename Each, typename Args>
void enlarge(const Each& each, const Args& args) {
    require_apart(args.output, {&args.features, &args.masks});
    const Input<double> features(args.features);
    const Input<double> masks(args.masks);
    const Output<double> to(args.output);
    const Carafe by = carafe_of(args, args.features, false);
    each(args.output.numel, 4 * by.window * by.window, Enlarge{to.data(), features.data(), masks.data(), by});
    to.store();
}

// `to` has the shape of `features`, and its elements with the channels last.
inline void copy_channels_last(const Tensor& to, const Tensor& features) {
    const int64_t* shape = features.shape;
    const View last = permuted(features, {0, 2, 3, 1});
    const Temporary elements({shape[0], shape[2], shape[3], shape[1]}, features.dtype, features);
    copy_elements(elements.tensor(), last.tensor());
    const View same(elements.tensor(), shape_of(to),
                    {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1});
    copy_elements(to, same.tensor());
}

template <typename Each>
void carafe(const Each& each, const kernels::CarafeMmcvArgs& args) {
    require_separate({&args.rfeatures, &args.output}, {&args.features, &args.masks});
    enlarge(each, args);
    copy_channels_last(args.rfeatures, args.features);
}

// Adds to what `of_features` and `of_masks` hold.
template <typename Each>
void add_carafe_gradients(const Each& each, double* of_features, double* of_masks, const Tensor& top_grad,
                          const Tensor& features, const Tensor& masks, const Carafe& by) {
    const Input<double> gradient(top_grad);
    const Input<double> elements(features);
    const Input<double> weights(masks);
    each(features.numel, 4 * by.window * by.window * by.factor * by.factor,
         AddFeatureGradients{of_features, gradient.data(), weights.data(), by});
    each(masks.numel, 4 * by.from.channels / by.groups,
         AddMaskGradients{of_masks, gradient.data(), elements.data(), by});
}

template <typename Each>
void carafe_naive_backward(const Each& each, const kernels::CarafeNaiveBackwardMmcvArgs& args) {
    require_separate({&args.bottom_grad, &args.mask_grad}, {&args.top_grad, &args.features, &args.masks});
    const Sums of_features(args.bottom_grad);
    const Sums of_masks(args.mask_grad);
    add_carafe_gradients(each, of_features.data(), of_masks.data(), args.top_grad, args.features, args.masks,
                         carafe_of(args, args.features, false));
    of_features.store();
    of_masks.store();
}

struct SetZero {
    double* to;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const { to[at] = 0; }
};

template <typename Each>
void carafe_backward(const Each& each, const kernels::CarafeBackwardMmcvArgs& args) {
    require_separate({&args.bottom_grad, &args.mask_grad}, {&args.top_grad, &args.rfeatures, &args.masks});
    const Output<double> of_features(args.bottom_grad);
    const Output<double> of_masks(args.mask_grad);
    each(args.bottom_grad.numel, 1, SetZero{of_features.data()});
    each(args.mask_grad.numel, 1, SetZero{of_masks.data()});
    add_carafe_gradients(each, of_features.data(), of_masks.data(), args.top_grad, args.rfeatures, args.masks,
                         carafe_of(args, args.rfeatures, true));
    of_features.store();
    of_masks.store();
}

// ---- Correlation (FlowNet, Dosovitskiy et al., 2015). ----

// One dimension of windows that are displaced.
struct DisplacedSide {
    int64_t size;  // of the maps
    int64_t outputs;
    int64_t window;
    int64_t patch;  // number of displacements
    int64_t pad;
    int64_t stride;
    int64_t dilation;
    int64_t patch_dilation;

    // Where element i of a window is on the first map.
    DIOPI_HOST_DEVICE int64_t own(int64_t output, int64_t i) const { return output * stride - pad + i * dilation; }
    DIOPI_HOST_DEVICE int64_t displacement(int64_t number) const { return (number - patch / 2) * patch_dilation; }
    DIOPI_HOST_DEVICE bool has(int64_t position) const { return position >= 0 && position < size; }
    // The output whose element i is on a position of the first map; -1 where there is none.
    DIOPI_HOST_DEVICE int64_t output(int64_t position, int64_t i) const {
        const int64_t start = position + pad - i * dilation;
        return start >= 0 && start % stride == 0 && start / stride < outputs ? start / stride : -1;
    }
};

struct Correlation {
    int64_t channels;
    DisplacedSide vertical;
    DisplacedSide horizontal;

    DIOPI_HOST_DEVICE int64_t plane() const { return vertical.size * horizontal.size; }
    DIOPI_HOST_DEVICE int64_t elements() const { return vertical.window * horizontal.window; }
    DIOPI_HOST_DEVICE int64_t patches() const { return vertical.patch * horizontal.patch; }
    // The result of a displacement at a row and column.
    DIOPI_HOST_DEVICE int64_t result(int64_t image, int64_t patch, int64_t row, int64_t column) const {
        return ((image * patches() + patch) * vertical.outputs + row) * horizontal.outputs + column;
    }
};

// An owner for each result, [images, displacements down, displacements right, rows, columns].
struct Correlate {
    double* to;
    const double* first;
    const double* second;
    Correlation by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t column = at % by.horizontal.outputs;
        const int64_t row = at / by.horizontal.outputs % by.vertical.outputs;
        const int64_t patch = at / (by.horizontal.outputs * by.vertical.outputs) % by.patches();
        const int64_t image = at / (by.horizontal.outputs * by.vertical.outputs * by.patches());
        const int64_t down = by.vertical.displacement(patch / by.horizontal.patch);
        const int64_t right = by.horizontal.displacement(patch % by.horizontal.patch);
        double sum = 0;
        for (int64_t k = 0; k < by.elements(); ++k) {
            const int64_t y = by.vertical.own(row, k / by.horizontal.window);
            const int64_t x = by.horizontal.own(column, k % by.horizontal.window);
            if (!by.vertical.has(y) || !by.vertical.has(y + down) || !by.horizontal.has(x) ||
                !by.horizontal.has(x + right)) {
                continue;
            }
            const double* a = first + image * by.channels * by.plane() + y * by.horizontal.size + x;
            const double* b = second + image * by.channels * by.plane() + (y + down) * by.horizontal.size + x + right;
            for (int64_t channel = 0; channel < by.channels; ++channel) {
                sum += a[channel * by.plane()] * b[channel * by.plane()];
            }
        }
        to[at] = sum;
    }
};

// An owner for each element of the first map, or of the second (`sign` 1 and -1): of all products that it is in.
struct CorrelationGradient {
    double* to;
    const double* other;
    const double* gradient;
    int64_t sign;
    Correlation by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t column = at % by.horizontal.size;
        const int64_t row = at / by.horizontal.size % by.vertical.size;
        const int64_t image = at / (by.plane() * by.channels);
        const double* plane = other + at / by.plane() * by.plane();
        double sum = 0;
        for (int64_t patch = 0; patch < by.patches(); ++patch) {
            const int64_t down = sign * by.vertical.displacement(patch / by.horizontal.patch);
            const int64_t right = sign * by.horizontal.displacement(patch % by.horizontal.patch);
            if (!by.vertical.has(row + down) || !by.horizontal.has(column + right)) {
                continue;
            }
            // Windows stay in place on the first map.
            const int64_t y = sign > 0 ? row : row + down;
            const int64_t x = sign > 0 ? column : column + right;
            double products = 0;
            for (int64_t k = 0; k < by.elements(); ++k) {
                const int64_t i = by.vertical.output(y, k / by.horizontal.window);
                const int64_t j = by.horizontal.output(x, k % by.horizontal.window);
                products += i < 0 || j < 0 ? 0 : gradient[by.result(image, patch, i, j)];
            }
            sum += products * plane[(row + down) * by.horizontal.size + column + right];
        }
        to[at] = sum;
    }
};

template <typename Args>
Correlation correlation_of(const Args& args, const Tensor& out) {
    const int64_t* shape = args.input1.shape;
    // Displacements by the size of the maps or more are outside, however large.
    const int64_t down = std::min(args.dilation_patchH, shape[2] + 1);
    const int64_t right = std::min(args.dilation_patchW, shape[3] + 1);
    return {shape[1],
            {shape[2], out.shape[3], args.kH, args.patchH, args.padH, args.dH, args.dilationH, down},
            {shape[3], out.shape[4], args.kW, args.patchW, args.padW, args.dW, args.dilationW, right}};
}

template <typename Each>
void correlation(const Each& each, const kernels::CorrelationMmcvArgs& args) {
    require_apart(args.output, {&args.input1, &args.input2});
    const Correlation by = correlation_of(args, args.output);
    const Input<double> first(args.input1);
    const Input<double> second(args.input2);
    const Output<double> to(args.output);
    each(args.output.numel, by.elements() * (8 + by.channels), Correlate{to.data(), first.data(), second.data(), by});
    to.store();
}

template <typename Each>
void correlation_backward(const Each& each, const kernels::CorrelationBackwardMmcvArgs& args) {
    require_separate({&args.grad_input1, &args.grad_input2}, {&args.grad_output, &args.input1, &args.input2});
    const Correlation by = correlation_of(args, args.grad_output);
    const Input<double> first(args.input1);
    const Input<double> second(args.input2);
    const Input<double> gradient(args.grad_output);
    const Output<double> of_first(args.grad_input1);
    const Output<double> of_second(args.grad_input2);
    const int64_t cost = 8 * by.patches() * by.elements();
    each(args.input1.numel, cost, CorrelationGradient{of_first.data(), second.data(), gradient.data(), 1, by});
    each(args.input2.numel, cost, CorrelationGradient{of_second.data(), first.data(), gradient.data(), -1, by});
    of_first.store();
    of_second.store();
}

// ---- Attention masks (PSANet, Zhao et al., 2018). ----

struct AttentionMasks {
    bool distributes;
    int64_t height;  // of the map
    int64_t width;
    int64_t mask_height;
    int64_t mask_width;
    int64_t centre_row;  // the element of a mask that is on its own position
    int64_t centre_column;

    DIOPI_HOST_DEVICE int64_t positions() const { return height * width; }
    // Where an element of the masks, [images, elements of a mask, height, width], goes; -1 where that is outside.
    DIOPI_HOST_DEVICE int64_t target(int64_t element) const {
        const int64_t own = element % positions();
        const int64_t k = element / positions() % (mask_height * mask_width);
        const int64_t image = element / (positions() * mask_height * mask_width);
        const int64_t row = own / width + k / mask_width - centre_row;
        const int64_t column = own % width + k % mask_width - centre_column;
        if (row < 0 || row >= height || column < 0 || column >= width) {
            return -1;
        }
        const int64_t other = row * width + column;
        return (image * positions() + (distributes ? own : other)) * positions() + (distributes ? other : own);
    }
};

template <typename W>
struct SpreadMasks {
    W* to;
    const W* from;
    AttentionMasks masks;

    DIOPI_HOST_DEVICE void operator()(int64_t element) const {
        const int64_t target = masks.target(element);
        if (target >= 0) {
            to[target] = from[element];
        }
    }
};

template <typename W>
struct FetchMasks {
    W* to;
    const W* from;
    AttentionMasks masks;

    DIOPI_HOST_DEVICE void operator()(int64_t element) const {
        const int64_t target = masks.target(element);
        if (target >= 0) {
            to[element] = from[target];
        }
    }
};

// `Body` moves elements between the masks (`count` elements) and the attention of all positions.
template <template <typename> class Body, typename Each, typename Args>
void move_masks(const Each& each, const Tensor& out, const Tensor& in, int64_t count, const Args& args) {
    require_apart(out, {&in});
    // Beyond the map and the mask together, no element is on the map: a distance that does not overflow says the same.
    const auto bounded = [](int64_t centre, int64_t mask, int64_t map) {
        return std::min(std::max(centre, -map - 1), mask + map + 1);
    };
    const AttentionMasks masks{args.psa_type == 1,
                               args.h_feature,
                               args.w_feature,
                               args.h_mask,
                               args.w_mask,
                               bounded(args.half_h_mask, args.h_mask, args.h_feature),
                               bounded(args.half_w_mask, args.w_mask, args.w_feature)};
    dispatch_word(in.dtype, [&](auto sample) {
        using W = decltype(sample);
        const RawInput from(in);
        const Changed to(out, out.dtype);
        each(count, 8, Body<W>{to.as<W>(), from.as<W>(), masks});
        to.store();
    });
}

// ---- Resampling by a filter (StyleGAN2, Karras et al., 2020): images [images, height, width, inner]. ----

// One dimension.
struct ResampledSide {
    int64_t size;
    int64_t outputs;
    int64_t filter;
    int64_t up;
    int64_t down;
    int64_t pad;  // in front
};

// An owner for each result.
struct Resample {
    double* to;
    const double* from;
    const double* filter;
    ResampledSide vertical;
    ResampledSide horizontal;
    int64_t inner;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t column = at / inner % horizontal.outputs;
        const int64_t row = at / (inner * horizontal.outputs) % vertical.outputs;
        const int64_t image = at / (inner * horizontal.outputs * vertical.outputs);
        double sum = 0;
        for (int64_t i = 0; i < vertical.filter; ++i) {
            const int64_t y = source(vertical, row, i);
            for (int64_t k = 0; y >= 0 && k < horizontal.filter; ++k) {
                const int64_t x = source(horizontal, column, k);
                if (x >= 0) {
                    const int64_t rotated = (vertical.filter - 1 - i) * horizontal.filter + horizontal.filter - 1 - k;
                    sum += filter[rotated] *
                           from[((image * vertical.size + y) * horizontal.size + x) * inner + at % inner];
                }
            }
        }
        to[at] = sum;
    }

  private:
    // The pixel that element i of the filter is on; -1 for a zero between pixels or outside.
    DIOPI_HOST_DEVICE static int64_t source(const ResampledSide& side, int64_t output, int64_t i) {
        const int64_t position = output * side.down + i - side.pad;
        return position >= 0 && position % side.up == 0 && position / side.up < side.size ? position / side.up : -1;
    }
};

template <typename Each>
void resample(const Each& each, const kernels::Upfirdn2dOpMmcvArgs& args) {
    const int64_t* shape = args.input.shape;
    ResampledSide vertical{shape[1], 0, args.kernel.shape[0], args.up_y, args.down_y, args.pad_y0};
    ResampledSide horizontal{shape[2], 0, args.kernel.shape[1], args.up_x, args.down_x, args.pad_x0};
    vertical.outputs = (shape[1] * args.up_y + args.pad_y0 + args.pad_y1 - vertical.filter) / args.down_y + 1;
    horizontal.outputs = (shape[2] * args.up_x + args.pad_x0 + args.pad_x1 - horizontal.filter) / args.down_x + 1;
    const Tensor out = new_tensor(args.ctx, "out", {shape[0], vertical.outputs, horizontal.outputs, shape[3]},
                                  args.input.dtype, args.input);
    const Input<double> from(args.input);
    const Input<double> filter(args.kernel);
    const Output<double> to(out);
    each(out.numel, 4 * args.kernel.numel,
         Resample{to.data(), from.data(), filter.data(), vertical, horizontal, shape[3]});
    to.store();
    *args.out = out.handle;
}

}  // namespace diopi::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_LOCAL_WINDOWS_H_
