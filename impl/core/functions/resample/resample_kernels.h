// What resampling and unfolding do to elements; pooling.h and convolution.h have the others.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_RESAMPLE_RESAMPLE_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_RESAMPLE_RESAMPLE_KERNELS_H_

#include "diopi_core/unfold.h"
#include "resize.h"

namespace diopigen::core {

// ---- Resampling. ----

// The element of the input that each of the result is a copy of, per dimension.
using Sources = std::array<std::vector<int64_t>, kSpace>;

// Which elements of the input an element of the result is computed from, along one dimension.
struct Taps {
    int count = 1;
    std::array<int64_t, 4> index{};
    std::array<double, 4> weight{};
};
using AllTaps = std::array<std::vector<Taps>, kSpace>;

void copy_nearest(const Tensor& out_tensor, const Tensor& input_tensor, const Resize& resize, const Sources& source);
void add_nearest(const Tensor& gradient, const Tensor& grad_out, const Resize& resize, const Sources& source);
// The gradients are the transposes of these.
void interpolate(const Tensor& out_tensor, const Tensor& input_tensor, const Resize& resize, const AllTaps& taps);
void spread(const Tensor& gradient, const Tensor& grad_out, const Resize& resize, const AllTaps& taps);

// ---- Images as columns, and back by addition. ----

void unfold_images(const Tensor& out_tensor, const Tensor& input_tensor, const Sliding& sliding, int64_t channels);
void fold_images(const Tensor& out_tensor, const Tensor& input_tensor, const Sliding& sliding, int64_t channels,
                 int64_t elements);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_RESAMPLE_RESAMPLE_KERNELS_H_
