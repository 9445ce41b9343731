// Pooling: a thread for each window, and in the gradients a thread for each element, which asks the windows that it may
// lie in. So nothing is added up by two threads.
#include "conv_pool_resample/pooling.h"
#include "diopi_cpu/dense.h"
#include "diopi_cpu/math.h"
#include "diopi_cuda/launch.h"

namespace diopi::cuda {

namespace {

// What a window covers along one dimension: the elements begin, begin + spread, ... below end. `padded` counts the
// padding as well.
struct Span {
    int64_t begin;
    int64_t end;
    int64_t padded;

    DIOPI_DEVICE bool is_empty() const { return end <= begin; }
    DIOPI_DEVICE bool holds(int64_t at, int64_t spread) const {
        return at >= begin && at < end && (at - begin) % spread == 0;
    }
};

struct Range {
    int64_t first;
    int64_t last;  // behind the last
};

// Pooling as a kernel sees it.
struct Layout {
    int64_t planes;
    bool is_adaptive;
    int64_t size[kSpace];
    int64_t windows[kSpace];
    int64_t extent[kSpace];
    int64_t step[kSpace];
    int64_t pad[kSpace];
    int64_t spread[kSpace];

    explicit Layout(const Pooling& pooling) : planes(pooling.planes), is_adaptive(pooling.is_adaptive) {
        for (int k = 0; k < kSpace; ++k) {
            size[k] = pooling.size[k];
            windows[k] = pooling.windows[k];
            extent[k] = pooling.window.extent(k);
            step[k] = pooling.window.step[k];
            pad[k] = pooling.window.pad[k];
            spread[k] = is_adaptive ? 1 : pooling.window.spread[k];
        }
    }

    int64_t elements() const { return planes * size[0] * size[1] * size[2]; }
    int64_t all_windows() const { return planes * windows[0] * windows[1] * windows[2]; }

    DIOPI_DEVICE int64_t plane_size() const { return size[0] * size[1] * size[2]; }
    DIOPI_DEVICE int64_t plane_windows() const { return windows[0] * windows[1] * windows[2]; }

    DIOPI_DEVICE Span span(int k, int64_t i) const {
        if (is_adaptive) {
            const int64_t begin = i * size[k] / windows[k];
            const int64_t end = ((i + 1) * size[k] + windows[k] - 1) / windows[k];
            return {begin, end, end - begin};
        }
        const int64_t start = i * step[k] - pad[k];
        const int64_t end = start + extent[k];
        const int64_t begin = start >= 0 ? start : start + (-start + spread[k] - 1) / spread[k] * spread[k];
        const int64_t padded_end = end < size[k] + pad[k] ? end : size[k] + pad[k];
        return {begin, end < size[k] ? end : size[k], padded_end - start};
    }

    // The windows that may hold the element `at` of dimension k; some of them may not.
    DIOPI_DEVICE Range windows_of(int k, int64_t at) const {
        int64_t first;
        int64_t last;
        if (is_adaptive) {
            first = at * windows[k] / size[k] - 1;
            last = ((at + 1) * windows[k] + size[k] - 1) / size[k] + 1;
        } else {
            const int64_t lowest = at + pad[k] - extent[k];
            first = lowest < 0 ? 0 : lowest / step[k];
            last = (at + pad[k]) / step[k] + 1;
        }
        return {first < 0 ? 0 : first, last > windows[k] ? windows[k] : last};
    }
};

struct Place {
    Span depth;
    Span height;
    Span width;

    DIOPI_DEVICE Place(const Layout& layout, int64_t window)
        : depth(layout.span(0, window / layout.windows[2] / layout.windows[1])),
          height(layout.span(1, window / layout.windows[2] % layout.windows[1])),
          width(layout.span(2, window % layout.windows[2])) {}

    DIOPI_DEVICE bool is_empty() const { return depth.is_empty() || height.is_empty() || width.is_empty(); }
};

// What a sum is divided by, `fixed` where it is not 0.
struct DeviceDivisor {
    bool has_padding;
    int64_t fixed;

    DIOPI_DEVICE double of(const Place& place) const {
        if (fixed != 0) {
            return static_cast<double>(fixed);
        }
        return length(place.depth) * length(place.height) * length(place.width);
    }

  private:
    DIOPI_DEVICE double length(const Span& span) const {
        return static_cast<double>(has_padding ? span.padded : span.end - span.begin);
    }
};

// The lowest value of a type: minus infinity where it has one.
template <typename T>
DIOPI_DEVICE T floor_of() {
    return cpu::lowest<T>();
}

template <typename T>
void find_maxima(const Layout& layout, T* maxima, Int64* positions, const T* x) {
    for_each(layout.all_windows(), [=] DIOPI_KERNEL(int64_t at) {
        const int64_t plane = at / layout.plane_windows();
        const Place place(layout, at % layout.plane_windows());
        const T* values = x + plane * layout.plane_size();
        T largest = floor_of<T>();
        int64_t position = -1;
        for (int64_t z = place.depth.begin; z < place.depth.end; z += layout.spread[0]) {
            for (int64_t y = place.height.begin; y < place.height.end; y += layout.spread[1]) {
                for (int64_t i = place.width.begin; i < place.width.end; i += layout.spread[2]) {
                    const int64_t own = (z * layout.size[1] + y) * layout.size[2] + i;
                    const T value = values[own];
                    if (position < 0 || value > largest || value != value) {
                        largest = value;
                        position = own;
                    }
                }
            }
        }
        maxima[at] = largest;
        if (positions != nullptr) {
            positions[at] = Int64(position);
        }
    });
}

void check_places(const Finding& found, const Int64* positions, int64_t count, int64_t size) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (positions[i].value < -1 || positions[i].value >= size) {
            found();
        }
    });
}

// Calls `visit(window)` for the windows that may hold an element of a plane, in rising order.
template <typename Visit>
DIOPI_DEVICE void for_windows_of(const Layout& layout, int64_t element, Visit& visit) {
    const Range depth = layout.windows_of(0, element / layout.size[2] / layout.size[1]);
    const Range height = layout.windows_of(1, element / layout.size[2] % layout.size[1]);
    const Range width = layout.windows_of(2, element % layout.size[2]);
    for (int64_t z = depth.first; z < depth.last; ++z) {
        for (int64_t y = height.first; y < height.last; ++y) {
            for (int64_t x = width.first; x < width.last; ++x) {
                visit((z * layout.windows[1] + y) * layout.windows[2] + x);
            }
        }
    }
}

template <typename T>
void return_maxima(const Layout& layout, T* gradient, const T* arriving, const Int64* positions) {
    for_each(layout.elements(), [=] DIOPI_KERNEL(int64_t at) {
        const int64_t plane = at / layout.plane_size();
        const int64_t element = at % layout.plane_size();
        const int64_t first = plane * layout.plane_windows();
        double sum = 0;
        auto add = [&](int64_t window) {
            if (positions[first + window].value == element) {
                sum += static_cast<double>(arriving[first + window]);
            }
        };
        for_windows_of(layout, element, add);
        gradient[at] = static_cast<T>(sum);
    });
}

template <typename T>
void find_means(const Layout& layout, T* means, const T* x, const DeviceDivisor& divisor) {
    for_each(layout.all_windows(), [=] DIOPI_KERNEL(int64_t at) {
        const int64_t plane = at / layout.plane_windows();
        const Place place(layout, at % layout.plane_windows());
        const T* values = x + plane * layout.plane_size();
        double sum = 0;
        for (int64_t z = place.depth.begin; z < place.depth.end; z += layout.spread[0]) {
            for (int64_t y = place.height.begin; y < place.height.end; y += layout.spread[1]) {
                for (int64_t i = place.width.begin; i < place.width.end; i += layout.spread[2]) {
                    sum += static_cast<double>(values[(z * layout.size[1] + y) * layout.size[2] + i]);
                }
            }
        }
        means[at] = static_cast<T>(place.is_empty() ? 0 : sum / divisor.of(place));
    });
}

template <typename T>
void return_means(const Layout& layout, T* gradient, const T* arriving, const DeviceDivisor& divisor) {
    for_each(layout.elements(), [=] DIOPI_KERNEL(int64_t at) {
        const int64_t plane = at / layout.plane_size();
        const int64_t element = at % layout.plane_size();
        const int64_t first = plane * layout.plane_windows();
        double sum = 0;
        auto add = [&](int64_t window) {
            const Place place(layout, window);
            if (place.depth.holds(element / layout.size[2] / layout.size[1], layout.spread[0]) &&
                place.height.holds(element / layout.size[2] % layout.size[1], layout.spread[1]) &&
                place.width.holds(element % layout.size[2], layout.spread[2])) {
                sum += static_cast<double>(arriving[first + window]) / divisor.of(place);
            }
        };
        for_windows_of(layout, element, add);
        gradient[at] = static_cast<T>(sum);
    });
}

DeviceDivisor on_device(const Divisor& divisor) {
    return {divisor.has_padding, divisor.fixed != nullptr ? *divisor.fixed : 0};
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

void max_pool(const Tensor& out, const Tensor& indices, const Tensor& input, const Pooling& pooling) {
    dispatch_compute<kNumber>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Output<T> maxima(out);
        const Output<Int64> positions(indices);
        cuda::find_maxima<T>(cuda::Layout(pooling), maxima.data(), indices.is_null() ? nullptr : positions.data(),
                             x.data());
        maxima.store();
        positions.store();
    });
}

void max_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                       const Pooling& pooling) {
    const Input<Int64> positions(indices);
    const cuda::Check check("parameter 'indices' holds a position outside of the plane");
    cuda::check_places(check.finding(), positions.data(), indices.numel, volume(pooling.size));
    check.conclude();
    dispatch_compute<kFloating>(grad_output.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> arriving(grad_output);
        const Output<T> gradient(grad_input);
        cuda::return_maxima<T>(cuda::Layout(pooling), gradient.data(), arriving.data(), positions.data());
        gradient.store();
    });
}

void avg_pool(const Tensor& out, const Tensor& input, const Pooling& pooling, const Divisor& divisor) {
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Output<T> means(out);
        cuda::find_means<T>(cuda::Layout(pooling), means.data(), x.data(), cuda::on_device(divisor));
        means.store();
    });
}

void avg_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Pooling& pooling,
                       const Divisor& divisor) {
    dispatch_compute<kFloating>(grad_output.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> arriving(grad_output);
        const Output<T> gradient(grad_input);
        cuda::return_means<T>(cuda::Layout(pooling), gradient.data(), arriving.data(), cuda::on_device(divisor));
        gradient.store();
    });
}

}  // namespace diopi::cpu
