// Layers over windows of feature maps, for the libraries of all devices: attention masks of PSANet, resampling by a
// filter. `Each` is how a library calls an object for all owners of results: each(count, cost, body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_LOCAL_WINDOWS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_LOCAL_WINDOWS_H_

#include <algorithm>

#include "detection.h"
#include "detection/numbers.h"
#include "diopi_core/kernel_checks.h"

namespace diopigen::core {

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

// From masks to the attention of all positions, or back.
template <bool spreads, typename W>
struct MoveMasks {
    W* to;
    const W* from;
    AttentionMasks masks;

    DIOPI_HOST_DEVICE void operator()(int64_t element) const {
        const int64_t target = masks.target(element);
        if (target >= 0) {
            to[spreads ? target : element] = from[spreads ? element : target];
        }
    }
};

// The masks have `count` elements.
template <bool spreads, typename Each, typename Args>
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
        each(count, 8, MoveMasks<spreads, W>{to.as<W>(), from.as<W>(), masks});
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

// A side with its number of outputs. Fails where sizes or positions are more than an int64 counts.
inline ResampledSide resampled_side(int64_t size, int64_t filter, int64_t up, int64_t down, int64_t pad,
                                    int64_t pad_behind) {
    int64_t length = 0;
    int64_t padding = 0;
    int64_t padded = 0;
    int64_t reach = 0;
    if (__builtin_mul_overflow(size, up, &length) || __builtin_add_overflow(pad, pad_behind, &padding) ||
        __builtin_add_overflow(length, padding, &padded) || __builtin_add_overflow(length, padded, &reach)) {
        fail("the padded image is larger than this library counts");
    }
    // To cut off more than the image leaves padding alone, as to cut off the whole image does.
    return {size, (padded - filter) / down + 1, filter, up, down, std::max(pad, -length)};
}

template <typename Each>
void resample(const Each& each, const entry::Upfirdn2dOpMmcvArgs& args) {
    const int64_t* shape = args.input.shape;
    const ResampledSide vertical =
        resampled_side(shape[1], args.kernel.shape[0], args.up_y, args.down_y, args.pad_y0, args.pad_y1);
    const ResampledSide horizontal =
        resampled_side(shape[2], args.kernel.shape[1], args.up_x, args.down_x, args.pad_x0, args.pad_x1);
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

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_LOCAL_WINDOWS_H_
