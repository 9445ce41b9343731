// Im2Col and Col2Im.
#include "resample.h"
#include "resample_kernels.h"

using namespace diopigen::core;

namespace {

template <typename Args>
Window window_of(const Args& args) {
    return {kernel_entries("kernel_size", args.kernel_size, 2), entries("stride", args.stride, 2, 1),
            entries("padding", args.padding, 2, 0), entries("dilation", args.dilation, 2, 1)};
}

// `columns` has a column for each window; at least one fits.
Sliding sliding_over(const Tensor& images, const Tensor& columns, const Window& window) {
    require_countable(images);
    require_countable(columns);
    Sliding sliding{window, space_of(images, 2), {}};
    for (int k = 0; k < kSpace; ++k) {
        sliding.positions[k] = window.count(k, sliding.size[k]);
    }
    if (sliding.positions[1] > kLargestEntry / sliding.positions[2]) {
        fail("parameter 'padding': this library takes up to " + std::to_string(kLargestEntry) + " windows");
    }
    return sliding;
}

}  // namespace

void diopigen::entry::im2_col(const Im2ColArgs& args) {
    require_disjoint(args.out, args.input);
    const Sliding sliding = sliding_over(args.input, args.out, window_of(args));
    unfold_images(args.out, args.input, sliding, args.input.shape[args.input.rank - 3]);
}

void diopigen::entry::col2_im(const Col2ImArgs& args) {
    require_disjoint(args.out, args.input);
    const Sliding sliding = sliding_over(args.out, args.input, window_of(args));
    fold_images(args.out, args.input, sliding, args.out.shape[args.out.rank - 3],
                args.input.shape[args.input.rank - 2]);
}
