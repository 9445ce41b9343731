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

// Pixels that the filter covers at an output; zeros between pixels and outside are none.
struct CoveredPixels {
    int64_t begin;
    int64_t end;
    int64_t first;  // the element of the filter that is on pixel 0, if it had so many

    DIOPI_HOST_DEVICE CoveredPixels(const ResampledSide& side, int64_t output) {
        const int64_t position = output * side.down - side.pad;  // of the filter's first element
        const int64_t last = position + side.filter - 1;
        begin = position <= 0 ? 0 : (position - 1) / side.up + 1;
        end = last < 0 ? 0 : last / side.up + 1;
        end = end < side.size ? end : side.size;
        first = -position;
    }
};

// An owner for each result, in rows of columns and channels.
struct Resample {
    double* to;
    const double* from;
    const double* filter;
    ResampledSide vertical;
    ResampledSide horizontal;
    int64_t inner;

    DIOPI_HOST_DEVICE int64_t length() const { return horizontal.outputs * inner; }

    struct Row {
        const Resample& of;
        int64_t number;
        CoveredPixels covered;

        DIOPI_HOST_DEVICE void operator()(int64_t i) const { of.write(*this, i); }
    };

    DIOPI_HOST_DEVICE Row row(int64_t k) const { return {*this, k, {vertical, k % vertical.outputs}}; }

  private:
    DIOPI_HOST_DEVICE void write(const Row& row, int64_t i) const {
        const CoveredPixels columns(horizontal, i / inner);
        const double* const image = from + row.number / vertical.outputs * vertical.size * horizontal.size * inner;
        double sum = 0;
        for (int64_t y = row.covered.begin; y < row.covered.end; ++y) {
            // The filter is applied turned by half a circle.
            const double* const factors =
                filter + (vertical.filter - 1 - row.covered.first - y * vertical.up) * horizontal.filter;
            for (int64_t x = columns.begin; x < columns.end; ++x) {
                sum += factors[horizontal.filter - 1 - columns.first - x * horizontal.up] *
                       image[(y * horizontal.size + x) * inner + i % inner];
            }
        }
        to[row.number * length() + i] = sum;
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
    const Resample rows{to.data(), from.data(), filter.data(), vertical, horizontal, shape[3]};
    each.rows(shape[0] * vertical.outputs, rows.length(), 4 * args.kernel.numel, rows);
    to.store();
    *args.out = out.handle;
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_LOCAL_WINDOWS_H_
