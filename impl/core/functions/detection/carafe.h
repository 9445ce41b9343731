// CARAFE: enlarged feature maps, for the libraries of all devices. `Each` is how a library calls an object for all
// owners of results: each(count, cost, body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_CARAFE_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_CARAFE_H_

#include "detection.h"
#include "detection/map_element.h"
#include "detection/numbers.h"
#include "diopi_core/kernel_checks.h"

namespace diopigen::core {

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
        const MapElement own(at, by.from.channels, by.from.height, by.from.width);
        const int64_t planes = (own.image * by.from.channels + own.channel) * by.pixels();
        double sum = 0;
        for (int64_t k = 0; k < by.window * by.window; ++k) {
            // The pixel that the window is around.
            const int64_t i = own.row - k / by.window + by.window / 2;
            const int64_t j = own.column - k % by.window + by.window / 2;
            if (!by.has(i, j)) {
                continue;
            }
            for (int64_t part = 0; part < by.factor * by.factor; ++part) {
                const int64_t pixel =
                    (i * by.factor + part / by.factor) * by.width() + j * by.factor + part % by.factor;
                sum += gradient[planes + pixel] * masks[by.mask(own.image, by.group(own.channel), k, pixel)];
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
void carafe(const Each& each, const entry::CarafeMmcvArgs& args) {
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
void carafe_naive_backward(const Each& each, const entry::CarafeNaiveBackwardMmcvArgs& args) {
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
void carafe_backward(const Each& each, const entry::CarafeBackwardMmcvArgs& args) {
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

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_CARAFE_H_
