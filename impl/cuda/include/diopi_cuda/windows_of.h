// Windows that slide over images, as kernels work them out.
#ifndef DIOPI_CUDA_WINDOWS_OF_H_
#define DIOPI_CUDA_WINDOWS_OF_H_

#include "convolution/convolution_kernels.h"
#include "diopi_cuda/group.h"

namespace diopigen::cuda {

using core::kSpace;

struct WindowsOf {
    int64_t size[kSpace];
    int64_t positions[kSpace];
    int64_t kernel[kSpace];
    int64_t stride[kSpace];
    int64_t pad[kSpace];
    int64_t spread[kSpace];

    explicit WindowsOf(const core::Sliding& sliding) {
        for (int k = 0; k < kSpace; ++k) {
            size[k] = sliding.size[k];
            positions[k] = sliding.positions[k];
            kernel[k] = sliding.window.kernel[k];
            stride[k] = sliding.window.stride[k];
            pad[k] = sliding.window.pad[k];
            spread[k] = sliding.window.spread[k];
        }
    }

    DIOPI_HOST_DEVICE int64_t image() const { return size[0] * size[1] * size[2]; }
    DIOPI_HOST_DEVICE int64_t position_count() const { return positions[0] * positions[1] * positions[2]; }
    DIOPI_HOST_DEVICE int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

    // The element of an image that a tap sees from a position, or -1 for padding.
    DIOPI_DEVICE int64_t seen(int64_t position, int64_t tap) const {
        const int64_t z =
            position / positions[2] / positions[1] * stride[0] - pad[0] + tap / kernel[2] / kernel[1] * spread[0];
        const int64_t y =
            position / positions[2] % positions[1] * stride[1] - pad[1] + tap / kernel[2] % kernel[1] * spread[1];
        const int64_t x = position % positions[2] * stride[2] - pad[2] + tap % kernel[2] * spread[2];
        const bool is_inside = z >= 0 && z < size[0] && y >= 0 && y < size[1] && x >= 0 && x < size[2];
        return is_inside ? (z * size[1] + y) * size[2] + x : -1;
    }

    // The position from which a tap sees an element, or -1 where there is none.
    DIOPI_DEVICE int64_t position_of(int64_t element, int64_t tap) const {
        const int64_t at[] = {element / size[2] / size[1], element / size[2] % size[1], element % size[2]};
        const int64_t of[] = {tap / kernel[2] / kernel[1], tap / kernel[2] % kernel[1], tap % kernel[2]};
        int64_t position = 0;
        for (int k = 0; k < kSpace; ++k) {
            const int64_t distance = at[k] + pad[k] - of[k] * spread[k];
            if (distance < 0 || distance % stride[k] != 0 || distance / stride[k] >= positions[k]) {
                return -1;
            }
            position = position * positions[k] + distance / stride[k];
        }
        return position;
    }
};

// A convolution as a kernel sees it.
struct Shape : WindowsOf {
    int64_t batch;
    int64_t channels;
    int64_t filters;
    int64_t depth;          // channels of a group
    int64_t group_filters;  // filters of a group

    explicit Shape(const core::Convolution& convolution)
        : WindowsOf(convolution.sliding),
          batch(convolution.batch),
          channels(convolution.channels),
          filters(convolution.filters),
          depth(convolution.depth()),
          group_filters(convolution.group_filters()) {}
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_WINDOWS_OF_H_
