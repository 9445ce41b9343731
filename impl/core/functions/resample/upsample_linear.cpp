// UpsampleLinear, forward and backward: linear or cubic interpolation, one dimension after the other.
#include <algorithm>
#include <array>
#include <cmath>

#include "cubic.h"
#include "resample.h"
#include "resample_kernels.h"

using namespace diopigen::core;

namespace {

Taps taps_at(double position, int64_t size, bool is_cubic) {
    Taps taps;
    if (is_cubic) {
        const auto first = static_cast<int64_t>(std::floor(position));
        const std::array<double, 4> weights = cubic_weights(position - std::floor(position));
        taps.count = 4;
        for (int i = 0; i < 4; ++i) {
            taps.index[i] = std::clamp<int64_t>(first - 1 + i, 0, size - 1);
            taps.weight[i] = weights[i];
        }
    } else {
        const double inside = std::max(position, 0.0);
        const int64_t first = std::min(static_cast<int64_t>(inside), size - 1);
        const double rest = std::clamp(inside - static_cast<double>(first), 0.0, 1.0);
        taps.count = 2;
        taps.index = {first, std::min(first + 1, size - 1)};
        taps.weight = {1 - rest, rest};
    }
    return taps;
}

// The first `kSpace - space` dimensions are not resized.
AllTaps taps_of(const Resize& resize, int64_t rank, bool align_corners, std::string_view mode) {
    const int64_t space = rank - 2;
    const bool is_cubic = mode == "bicubic";
    AllTaps all;
    for (int k = 0; k < kSpace; ++k) {
        const auto from = static_cast<double>(resize.from[k]);
        const auto to = static_cast<double>(resize.to[k]);
        for (int64_t i = 0; i < resize.to[k]; ++i) {
            const auto at = static_cast<double>(i);
            if (k < kSpace - space) {
                all[k].push_back({1, {0}, {1}});
            } else if (align_corners) {
                all[k].push_back(taps_at(to > 1 ? at * (from - 1) / (to - 1) : 0, resize.from[k], is_cubic));
            } else {
                all[k].push_back(taps_at((at + 0.5) * from / to - 0.5, resize.from[k], is_cubic));
            }
        }
    }
    return all;
}

}  // namespace

void diopigen::entry::upsample_linear(const UpsampleLinearArgs& args) {
    require_disjoint(args.out, args.input);
    if (args.out.numel > 0) {
        const Resize resize = resize_of(args.input, args.out);
        interpolate(args.out, args.input, resize, taps_of(resize, args.input.rank, args.align_corners, args.mode));
    }
}

void diopigen::entry::upsample_linear_backward(const UpsampleLinearBackwardArgs& args) {
    require_disjoint(args.grad_input, args.grad_output);
    if (args.grad_input.numel > 0) {
        const Resize resize = resize_of(args.grad_input, args.grad_output);
        spread(args.grad_input, args.grad_output, resize,
               taps_of(resize, args.grad_input.rank, args.align_corners, args.mode));
    }
}
