// Pooling as kernels see it: windows, the elements in them, and the windows that an element may be in.
#ifndef DIOPI_CUDA_WINDOWS_OF_PLANES_H_
#define DIOPI_CUDA_WINDOWS_OF_PLANES_H_

#include "diopi_cuda/group.h"
#include "pooling/pooling_kernels.h"

namespace diopigen::cuda {

// What a window covers along one dimension: the elements begin, begin + spread, ... below end. `padded` counts the
// padding as well.
template <typename I>
struct Span {
    I begin;
    I end;
    I padded;

    DIOPI_DEVICE bool is_empty() const { return end <= begin; }
    DIOPI_DEVICE bool holds(I at, I spread) const { return at >= begin && at < end && (at - begin) % spread == 0; }
};

template <typename I>
struct Range {
    I first;
    I last;  // behind the last
};

// An element of a plane, or a window over it.
template <typename I>
struct InPlane {
    I plane;
    I at;
    I channel;
};

// Pooling of less than 2^31 elements is counted in 32 bits. A plane is an image of one channel; where the channels come
// last in memory it is one of all channels, whose elements at one position are neighbours.
template <typename I>
struct Layout {
    int64_t planes;
    I channels;  // of a plane
    bool is_adaptive;
    I size[kSpace];
    I windows[kSpace];
    I extent[kSpace];
    I stride[kSpace];
    I pad[kSpace];
    I spread[kSpace];

    Layout(const Pooling& pooling, int64_t plane_channels)
        : planes(plane_channels > 0 ? pooling.planes / plane_channels : 0),
          channels(static_cast<I>(plane_channels)),
          is_adaptive(pooling.is_adaptive) {
        for (int k = 0; k < kSpace; ++k) {
            size[k] = static_cast<I>(pooling.size[k]);
            windows[k] = static_cast<I>(pooling.windows[k]);
            extent[k] = static_cast<I>(pooling.window.extent(k));
            stride[k] = static_cast<I>(pooling.window.stride[k]);
            pad[k] = static_cast<I>(pooling.window.pad[k]);
            spread[k] = is_adaptive ? 1 : static_cast<I>(pooling.window.spread[k]);
        }
    }

    // Over all planes and channels.
    int64_t elements() const { return planes * channels * size[0] * size[1] * size[2]; }
    int64_t all_windows() const { return planes * channels * windows[0] * windows[1] * windows[2]; }
    // Elements in a window, where it does not stick out.
    int64_t reach() const {
        int64_t count = 1;
        for (int k = 0; k < kSpace; ++k) {
            count *= is_adaptive ? (size[k] + windows[k] - 1) / (windows[k] > 0 ? windows[k] : 1)
                                 : (extent[k] - 1) / spread[k] + 1;
        }
        return count;
    }

    DIOPI_DEVICE I plane_size() const { return size[0] * size[1] * size[2]; }
    DIOPI_DEVICE I plane_windows() const { return windows[0] * windows[1] * windows[2]; }

    // Element i in memory, of a tensor with so many elements in each channel of a plane.
    DIOPI_DEVICE InPlane<I> in_plane(I i, I count) const {
        const I rest = channels == 1 ? i : i / channels;
        return {rest / count, rest % count, channels == 1 ? 0 : i % channels};
    }
    // Where the first element of a channel of such a tensor is.
    DIOPI_DEVICE I first_of(const InPlane<I>& element, I count) const {
        return element.plane * count * channels + element.channel;
    }

    DIOPI_DEVICE Span<I> span(int k, I i) const {
        if (is_adaptive) {
            const I begin = i * size[k] / windows[k];
            const I end = ((i + 1) * size[k] + windows[k] - 1) / windows[k];
            return {begin, end, end - begin};
        }
        const I start = i * stride[k] - pad[k];
        const I end = start + extent[k];
        const I begin = start >= 0 ? start : start + (-start + spread[k] - 1) / spread[k] * spread[k];
        const I padded_end = end < size[k] + pad[k] ? end : size[k] + pad[k];
        return {begin, end < size[k] ? end : size[k], padded_end - start};
    }

    // The windows that may hold the element `at` of dimension k; some of them may not.
    DIOPI_DEVICE Range<I> windows_of(int k, I at) const {
        I first;
        I last;
        if (is_adaptive) {
            first = at * windows[k] / size[k] - 1;
            last = ((at + 1) * windows[k] + size[k] - 1) / size[k] + 1;
        } else {
            const I lowest = at + pad[k] - extent[k];
            first = lowest < 0 ? 0 : lowest / stride[k];
            last = (at + pad[k]) / stride[k] + 1;
        }
        return {first < 0 ? 0 : first, last > windows[k] ? windows[k] : last};
    }
};

template <typename I>
struct WindowRange {
    Span<I> depth;
    Span<I> height;
    Span<I> width;

    DIOPI_DEVICE WindowRange(const Layout<I>& layout, I window)
        : depth(layout.span(0, window / layout.windows[2] / layout.windows[1])),
          height(layout.span(1, window / layout.windows[2] % layout.windows[1])),
          width(layout.span(2, window % layout.windows[2])) {}

    DIOPI_DEVICE bool is_empty() const { return depth.is_empty() || height.is_empty() || width.is_empty(); }
};

// Whether all that is counted of a pooling stays within 32 bits.
inline bool is_short(const Pooling& pooling) {
    constexpr int64_t kMost = 0x3fffffff;
    int64_t elements = pooling.planes;
    int64_t windows = pooling.planes;
    bool is_short = true;
    for (int k = 0; k < kSpace; ++k) {
        elements *= pooling.size[k];
        windows *= pooling.windows[k];
        const int64_t reach = pooling.is_adaptive ? (pooling.windows[k] + 1) * (pooling.size[k] + 1)
                                                  : pooling.size[k] + 2 * pooling.window.pad[k] +
                                                        pooling.window.extent(k) + pooling.window.stride[k];
        is_short = is_short && reach <= kMost;
    }
    return is_short && elements <= kMost && windows <= kMost;
}

// Calls `body(layout)` with the layout of the size that suffices.
template <typename Body>
void with_layout(const Pooling& pooling, int64_t plane_channels, Body&& body) {
    if (is_short(pooling)) {
        body(Layout<int32_t>(pooling, plane_channels));
    } else {
        body(Layout<int64_t>(pooling, plane_channels));
    }
}

// What a sum is divided by, `fixed` where it is not 0.
struct DeviceDivisor {
    bool has_padding;
    int64_t fixed;

    template <typename I>
    DIOPI_DEVICE double of(const WindowRange<I>& range) const {
        if (fixed != 0) {
            return static_cast<double>(fixed);
        }
        return length(range.depth) * length(range.height) * length(range.width);
    }

  private:
    template <typename I>
    DIOPI_DEVICE double length(const Span<I>& span) const {
        return static_cast<double>(has_padding ? span.padded : span.end - span.begin);
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_WINDOWS_OF_PLANES_H_
