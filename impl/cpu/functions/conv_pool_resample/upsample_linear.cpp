// UpsampleLinear, forward and backward: linear or cubic interpolation, one dimension after the other.
#include <diopi/functions.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "cubic.h"
#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"
#include "kernels.h"
#include "resize.h"

using namespace diopi::cpu;

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
AllTaps taps_of(const Resize& resize, int space, bool align_corners, bool is_cubic) {
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

// Whether the mode is cubic; `rank` counts batch and channels.
bool is_cubic(const char* mode, int64_t rank, const char* message) {
    require_text("mode", mode, {"linear", "bilinear", "bicubic", "trilinear"});
    const bool is_cubic = std::strcmp(mode, "bicubic") == 0;
    const int64_t needed = std::strcmp(mode, "linear") == 0 ? 3 : std::strcmp(mode, "trilinear") == 0 ? 5 : 4;
    require(rank == needed, message);
    return is_cubic;
}

}  // namespace

DIOPI_API diopiError_t diopiUpsampleLinear(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                           diopiConstTensorHandle_t input, diopiSize_t size, bool align_corners,
                                           const char* mode) {
    return guarded("diopiUpsampleLinear", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const bool cubic =
            is_cubic(mode, input_tensor.rank, "C1: parameter 'mode' does not fit the number of dimensions of input");
        const Resize resize = resize_of(out_tensor, input_tensor, size, "C2",
                                        "C3: parameter 'input' must have elements in all dimensions but the first");
        if (out_tensor.numel == 0) {
            return;
        }
        const AllTaps taps = taps_of(resize, static_cast<int>(input_tensor.rank) - 2, align_corners, cubic);
        interpolate(out_tensor, input_tensor, resize, taps);
    });
}

DIOPI_API diopiError_t diopiUpsampleLinearBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                   diopiConstTensorHandle_t grad_output, diopiSize_t out_size,
                                                   diopiSize_t in_size, bool align_corners, const char* mode) {
    return guarded("diopiUpsampleLinearBackward", ctx, [&] {
        const Tensor gradient = tensor("grad_input", grad_input, kFloating);
        const Tensor arriving = tensor("grad_output", grad_output, kFloating);
        require_sizes("in_size", in_size);
        const bool cubic = is_cubic(mode, in_size.len, "C1: parameter 'mode' does not fit the length of in_size");
        const Resize resize = resize_backward(gradient, arriving, out_size, in_size, "C3");
        if (gradient.numel == 0) {
            return;
        }
        const AllTaps taps = taps_of(resize, static_cast<int>(in_size.len) - 2, align_corners, cubic);
        spread(gradient, arriving, resize, taps);
    });
}
