// Images as columns and back: every window a column with its elements channel by channel, as in im2col and col2im.
#ifndef DIOPI_CORE_UNFOLD_H_
#define DIOPI_CORE_UNFOLD_H_

#include <algorithm>
#include <cstdint>

#include "diopi_core/threads.h"
#include "windows.h"

namespace diopigen::core {

struct Sliding {
    Window window;
    Triple size;       // of the images
    Triple positions;  // how many windows there are

    // Whether every column is one element of the image, in order.
    bool is_identity() const {
        return window.kernel == Triple{1, 1, 1} && window.stride == Triple{1, 1, 1} && window.pad == Triple{0, 0, 0} &&
               positions == size;
    }
};

// Calls `visit(element, position, first, last, source)` for every element of the window in channels [begin, end) and
// every row of positions: `position` is the first of the row, and the p-th of [first, last) has the image's element
// `source + p * stride`, the others padding.
template <typename Visit>
void for_each_row(const Sliding& sliding, int64_t begin, int64_t end, Visit&& visit) {
    const auto& [kernel, stride, pad, spread] = sliding.window;
    const Triple& size = sliding.size;
    const Triple& positions = sliding.positions;
    for (int64_t channel = begin; channel < end; ++channel) {
        for (int64_t i = 0; i < volume(kernel); ++i) {
            const int64_t element = channel * volume(kernel) + i;
            const int64_t shift = i % kernel[2] * spread[2] - pad[2];
            // Positions whose source is in the image: 0 <= p * stride + shift < size.
            const int64_t first = std::min(positions[2], shift >= 0 ? 0 : (-shift + stride[2] - 1) / stride[2]);
            const int64_t room = size[2] - shift;
            const int64_t last = std::max(first, std::min(positions[2], room <= 0 ? 0 : (room - 1) / stride[2] + 1));
            for (int64_t row = 0; row < positions[0] * positions[1]; ++row) {
                const int64_t z = row / positions[1] * stride[0] - pad[0] + i / (kernel[2] * kernel[1]) * spread[0];
                const int64_t y = row % positions[1] * stride[1] - pad[1] + i / kernel[2] % kernel[1] * spread[1];
                const bool is_inside = z >= 0 && z < size[0] && y >= 0 && y < size[1];
                const int64_t source = ((channel * size[0] + z) * size[1] + y) * size[2] + shift;
                visit(element, row * positions[2], is_inside ? first : 0, is_inside ? last : 0, source);
            }
        }
    }
}

inline int64_t channel_grain(const Sliding& sliding) {
    return 1 + 16384 / (volume(sliding.window.kernel) * volume(sliding.positions) + 1);
}

// Element e of window p goes to columns[e * element_stride + p].
template <typename T>
void unfold(const Sliding& sliding, int64_t channels, const T* image, T* columns, int64_t element_stride) {
    const int64_t stride = sliding.window.stride[2];
    const int64_t width = sliding.positions[2];
    parallel_for(channels, channel_grain(sliding), [&](int64_t begin, int64_t end) {
        for_each_row(sliding, begin, end,
                     [&](int64_t element, int64_t position, int64_t first, int64_t last, int64_t source) {
                         T* to = columns + element * element_stride + position;
                         for (int64_t p = 0; p < first; ++p) {
                             to[p] = T(0);
                         }
                         if (stride == 1) {
                             std::copy(image + source + first, image + source + last, to + first);
                         } else if (stride == 2) {
                             for (int64_t p = first; p < last; ++p) {
                                 to[p] = image[source + p * 2];
                             }
                         } else {
                             for (int64_t p = first; p < last; ++p) {
                                 to[p] = image[source + p * stride];
                             }
                         }
                         for (int64_t p = last; p < width; ++p) {
                             to[p] = T(0);
                         }
                     });
    });
}

// Adds the columns, a row of all windows per element, to the image.
template <typename T>
void fold(const Sliding& sliding, int64_t channels, const T* columns, T* image) {
    const int64_t stride = sliding.window.stride[2];
    const int64_t pitch = volume(sliding.positions);
    parallel_for(channels, channel_grain(sliding), [&](int64_t begin, int64_t end) {
        for_each_row(sliding, begin, end,
                     [&](int64_t element, int64_t position, int64_t first, int64_t last, int64_t source) {
                         const T* from = columns + element * pitch + position;
                         for (int64_t p = first; p < last; ++p) {
                             image[source + p * stride] = image[source + p * stride] + from[p];
                         }
                     });
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_UNFOLD_H_
