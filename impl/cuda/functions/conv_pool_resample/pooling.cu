// Pooling: a thread for each window, or a group where windows are large, and in the gradients a thread for each
// element, which asks the windows that it may be in. So nothing is added up by two threads. Halves are read where they
// lie.
#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "diopi_cuda/launch.h"
#include "planes.h"

namespace diopi::cuda {

namespace {

constexpr int64_t kLargeWindow = 128;

// The type that elements are compared in: that of halves is float.
template <typename S>
using Compared = std::conditional_t<is_half(dtype_of<S>), float, S>;

// Positions run over the elements of a window in order; threads of a group take turns. `visit(value, position)`.
template <typename S, typename I, typename Visit>
DIOPI_DEVICE void for_elements(const Layout<I>& layout, const WindowRange<I>& range, const S* values, Visit&& visit) {
    for (I z = range.depth.begin; z < range.depth.end; z += layout.spread[0]) {
        for (I y = range.height.begin; y < range.height.end; y += layout.spread[1]) {
            for (I x = range.width.begin; x < range.width.end; x += layout.spread[2]) {
                const I own = (z * layout.size[1] + y) * layout.size[2] + x;
                visit(static_cast<Compared<S>>(values[own]), own);
            }
        }
    }
}

template <typename S, typename I>
void find_maxima(const Layout<I>& layout, S* maxima, Int64* positions, const S* x) {
    for_each(layout.all_windows(), [=] DIOPI_KERNEL(int64_t at) {
        using T = Compared<S>;
        const I plane = static_cast<I>(at) / layout.plane_windows();
        const WindowRange<I> range(layout, static_cast<I>(at) % layout.plane_windows());
        T largest = core::lowest<T>();
        I position = -1;
        for_elements(layout, range, x + plane * layout.plane_size(), [&](T value, I own) {
            if (position < 0 || value > largest || value != value) {
                largest = value;
                position = own;
            }
        });
        maxima[at] = cast<S>(largest);
        if (positions != nullptr) {
            positions[at] = Int64(position);
        }
    });
}

void check_positions(const Finding& found, const Int64* positions, int64_t count, int64_t size) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (positions[i].value < -1 || positions[i].value >= size) {
            found();
        }
    });
}

// Calls `visit(window)` for the windows that may hold an element of a plane, in rising order.
template <typename I, typename Visit>
DIOPI_DEVICE void for_windows_of(const Layout<I>& layout, I element, Visit& visit) {
    const Range<I> depth = layout.windows_of(0, element / layout.size[2] / layout.size[1]);
    const Range<I> height = layout.windows_of(1, element / layout.size[2] % layout.size[1]);
    const Range<I> width = layout.windows_of(2, element % layout.size[2]);
    for (I z = depth.first; z < depth.last; ++z) {
        for (I y = height.first; y < height.last; ++y) {
            for (I x = width.first; x < width.last; ++x) {
                visit((z * layout.windows[1] + y) * layout.windows[2] + x);
            }
        }
    }
}

template <typename S, typename I>
void return_maxima(const Layout<I>& layout, S* gradient, const S* grad_out, const Int64* positions) {
    for_each(layout.elements(), [=] DIOPI_KERNEL(int64_t at) {
        const I plane = static_cast<I>(at) / layout.plane_size();
        const I element = static_cast<I>(at) % layout.plane_size();
        const I first = plane * layout.plane_windows();
        double sum = 0;
        auto add = [&](I window) {
            if (positions[first + window].value == element) {
                sum += static_cast<double>(static_cast<Compared<S>>(grad_out[first + window]));
            }
        };
        for_windows_of(layout, element, add);
        gradient[at] = cast<S>(static_cast<Compared<S>>(sum));
    });
}

template <typename S, typename I>
void find_means(const Layout<I>& layout, S* means, const S* x, const DeviceDivisor& divisor) {
    for_each(layout.all_windows(), [=] DIOPI_KERNEL(int64_t at) {
        const I plane = static_cast<I>(at) / layout.plane_windows();
        const WindowRange<I> range(layout, static_cast<I>(at) % layout.plane_windows());
        double sum = 0;
        for_elements(layout, range, x + plane * layout.plane_size(),
                     [&](Compared<S> value, I) { sum += static_cast<double>(value); });
        means[at] = cast<S>(static_cast<Compared<S>>(range.is_empty() ? 0 : sum / divisor.of(range)));
    });
}

template <typename S, typename I>
void find_means_of_large(const Layout<I>& layout, S* means, const S* x, const DeviceDivisor& divisor) {
    for_groups(layout.all_windows(), threads_for(layout.reach() / 4), 0, [=] DIOPI_KERNEL(Group & group, int64_t at) {
        const I plane = static_cast<I>(at) / layout.plane_windows();
        const WindowRange<I> range(layout, static_cast<I>(at) % layout.plane_windows());
        const S* const values = x + plane * layout.plane_size();
        const I height = range.is_empty() ? 0 : (range.height.end - range.height.begin - 1) / layout.spread[1] + 1;
        const I width = range.is_empty() ? 0 : (range.width.end - range.width.begin - 1) / layout.spread[2] + 1;
        const I depth = range.is_empty() ? 0 : (range.depth.end - range.depth.begin - 1) / layout.spread[0] + 1;
        double sum = 0;
        for (I i = group.thread(); i < depth * height * width; i += group.size()) {
            const I z = range.depth.begin + i / width / height * layout.spread[0];
            const I y = range.height.begin + i / width % height * layout.spread[1];
            const I own = (z * layout.size[1] + y) * layout.size[2] + range.width.begin + i % width * layout.spread[2];
            sum += static_cast<double>(static_cast<Compared<S>>(values[own]));
        }
        sum = group.sum(sum);
        if (group.thread() == 0) {
            means[at] = cast<S>(static_cast<Compared<S>>(range.is_empty() ? 0 : sum / divisor.of(range)));
        }
    });
}

template <typename S, typename I>
void return_means(const Layout<I>& layout, S* gradient, const S* grad_out, const DeviceDivisor& divisor) {
    for_each(layout.elements(), [=] DIOPI_KERNEL(int64_t at) {
        const I plane = static_cast<I>(at) / layout.plane_size();
        const I element = static_cast<I>(at) % layout.plane_size();
        const I first = plane * layout.plane_windows();
        double sum = 0;
        auto add = [&](I window) {
            const WindowRange<I> range(layout, window);
            if (range.depth.holds(element / layout.size[2] / layout.size[1], layout.spread[0]) &&
                range.height.holds(element / layout.size[2] % layout.size[1], layout.spread[1]) &&
                range.width.holds(element % layout.size[2], layout.spread[2])) {
                sum += static_cast<double>(static_cast<Compared<S>>(grad_out[first + window])) / divisor.of(range);
            }
        };
        for_windows_of(layout, element, add);
        gradient[at] = cast<S>(static_cast<Compared<S>>(sum));
    });
}

DeviceDivisor on_device(const Divisor& divisor) { return {divisor.has_padding, divisor.fixed.value_or(0)}; }

}  // namespace

}  // namespace diopi::cuda

namespace diopi::core {

void max_pool(const Tensor& out, const Tensor& indices, const Tensor& input, const Pooling& pooling) {
    dispatch<kNumber>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input);
        const Output<S> maxima(out);
        const Output<Int64> positions(indices);
        cuda::with_layout(pooling, [&](const auto& layout) {
            cuda::find_maxima<S>(layout, maxima.data(), indices.is_null() ? nullptr : positions.data(), x.data());
        });
        maxima.store();
        positions.store();
    });
}

void max_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                       const Pooling& pooling, const char* index_message) {
    const Input<Int64> positions(indices);
    const cuda::Check check(index_message);
    cuda::check_positions(check.finding(), positions.data(), indices.numel, volume(pooling.size));
    check.conclude();
    dispatch<kFloating>(grad_output.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> grad_out(grad_output);
        const Output<S> gradient(grad_input);
        cuda::with_layout(pooling, [&](const auto& layout) {
            cuda::return_maxima<S>(layout, gradient.data(), grad_out.data(), positions.data());
        });
        gradient.store();
    });
}

void avg_pool(const Tensor& out, const Tensor& input, const Pooling& pooling, const Divisor& divisor) {
    dispatch<kFloating>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input);
        const Output<S> means(out);
        cuda::with_layout(pooling, [&](const auto& layout) {
            if (layout.reach() >= cuda::kLargeWindow) {
                cuda::find_means_of_large<S>(layout, means.data(), x.data(), cuda::on_device(divisor));
            } else {
                cuda::find_means<S>(layout, means.data(), x.data(), cuda::on_device(divisor));
            }
        });
        means.store();
    });
}

void avg_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Pooling& pooling,
                       const Divisor& divisor) {
    dispatch<kFloating>(grad_output.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> grad_out(grad_output);
        const Output<S> gradient(grad_input);
        cuda::with_layout(pooling, [&](const auto& layout) {
            cuda::return_means<S>(layout, gradient.data(), grad_out.data(), cuda::on_device(divisor));
        });
        gradient.store();
    });
}

}  // namespace diopi::core
