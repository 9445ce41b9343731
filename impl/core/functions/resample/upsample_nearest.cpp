// UpsampleNearest, forward and backward.
#include <algorithm>
#include <cmath>

#include "resample.h"
#include "resample_kernels.h"

using namespace diopigen::core;

namespace {

// The element of `from` that each of `to` is a copy of, per dimension. PyTorch takes the product of position and ratio
// in float, except for the forward call of doubles, which rounds it to float.
template <typename Ratio>
Sources sources(const Resize& resize) {
    Sources found;
    for (int k = 0; k < kSpace; ++k) {
        const Ratio ratio = static_cast<Ratio>(resize.from[k]) / static_cast<Ratio>(resize.to[k]);
        for (int64_t i = 0; i < resize.to[k]; ++i) {
            const auto position = static_cast<float>(static_cast<Ratio>(i) * ratio);
            found[k].push_back(std::min(static_cast<int64_t>(std::floor(position)), resize.from[k] - 1));
        }
    }
    return found;
}

}  // namespace

void diopigen::entry::upsample_nearest(const UpsampleNearestArgs& args) {
    require_disjoint(args.out, args.input);
    if (args.out.numel > 0) {
        const Resize resize = resize_of(args.input, args.out);
        const bool is_double = args.input.dtype == Dtype::kFloat64;
        copy_nearest(args.out, args.input, resize, is_double ? sources<double>(resize) : sources<float>(resize));
    }
}

void diopigen::entry::upsample_nearest_backward(const UpsampleNearestBackwardArgs& args) {
    require_disjoint(args.grad_input, args.grad_output);
    if (args.grad_input.numel > 0) {
        const Resize resize = resize_of(args.grad_input, args.grad_output);
        add_nearest(args.grad_input, args.grad_output, resize, sources<float>(resize));
    }
}
