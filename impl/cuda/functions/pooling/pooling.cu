// Pooling: means by cuDNN where it takes them, else a thread for each window, or a group where windows are large, and
// in the gradients a thread for each element, which asks the windows that it may be in. So nothing is added up by two
// threads. Halves are read where they lie, and so are images with the channels last.
#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "diopi_cuda/dnn.h"
#include "diopi_cuda/launch.h"
#include "planes.h"

namespace diopigen::cuda {

namespace {

constexpr int64_t kLargeWindow = 128;

// The tensors of a call are read and written in the order that the image has in memory.
class Format {
  public:
    Format(const Tensor& image, const Pooling& pooling)
        : space_(pooling.space),
          format_(is_channels_last(image, space_) ? MemoryFormat::kChannelsLast : MemoryFormat::kChannelsFirst),
          channels_(format_ == MemoryFormat::kChannelsLast ? image.shape[image.rank - space_ - 1] : 1) {}

    operator MemoryFormat() const { return format_; }  // NOLINT
    // Null stays null.
    View of(const Tensor& tensor) const {
        return arranged(tensor, space_, tensor.is_null() ? MemoryFormat::kChannelsFirst : format_);
    }
    // The channels of a plane.
    int64_t channels() const { return channels_; }

  private:
    int64_t space_;
    MemoryFormat format_;
    int64_t channels_;
};

// The type that elements are compared in: that of halves is float.
template <typename S>
using Compared = std::conditional_t<is_half(dtype_of<S>), float, S>;

// Positions run over the elements of a window in order. `values` is the first element of the channel.
// `visit(value, position)`.
template <typename S, typename I, typename Visit>
DIOPI_DEVICE void for_elements(const Layout<I>& layout, const WindowRange<I>& range, const S* values, Visit&& visit) {
    for (I z = range.depth.begin; z < range.depth.end; z += layout.spread[0]) {
        for (I y = range.height.begin; y < range.height.end; y += layout.spread[1]) {
            for (I x = range.width.begin; x < range.width.end; x += layout.spread[2]) {
                const I own = (z * layout.size[1] + y) * layout.size[2] + x;
                visit(static_cast<Compared<S>>(values[own * layout.channels]), own);
            }
        }
    }
}

template <typename S, typename I>
void find_maxima(const Layout<I>& layout, S* maxima, Int64* positions, const S* x) {
    for_each(layout.all_windows(), [=] DIOPI_KERNEL(int64_t at) {
        using T = Compared<S>;
        const InPlane<I> window = layout.in_plane(static_cast<I>(at), layout.plane_windows());
        const WindowRange<I> range(layout, window.at);
        T largest = core::lowest<T>();
        I position = -1;
        for_elements(layout, range, x + layout.first_of(window, layout.plane_size()), [&](T value, I own) {
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
        const InPlane<I> element = layout.in_plane(static_cast<I>(at), layout.plane_size());
        const I first = layout.first_of(element, layout.plane_windows());
        double sum = 0;
        auto add = [&](I window) {
            const I own = first + window * layout.channels;
            if (positions[own].value == element.at) {
                sum += static_cast<double>(static_cast<Compared<S>>(grad_out[own]));
            }
        };
        for_windows_of(layout, element.at, add);
        gradient[at] = cast<S>(static_cast<Compared<S>>(sum));
    });
}

template <typename S, typename I>
void find_means(const Layout<I>& layout, S* means, const S* x, const DeviceDivisor& divisor) {
    for_each(layout.all_windows(), [=] DIOPI_KERNEL(int64_t at) {
        const InPlane<I> window = layout.in_plane(static_cast<I>(at), layout.plane_windows());
        const WindowRange<I> range(layout, window.at);
        double sum = 0;
        for_elements(layout, range, x + layout.first_of(window, layout.plane_size()),
                     [&](Compared<S> value, I) { sum += static_cast<double>(value); });
        means[at] = cast<S>(static_cast<Compared<S>>(range.is_empty() ? 0 : sum / divisor.of(range)));
    });
}

// The threads of a group take turns with the elements of a window; where channels are neighbours, each warp reads as
// many of them as it has lanes.
template <typename S, typename I>
void find_means_of_large(const Layout<I>& layout, S* means, const S* x, const DeviceDivisor& divisor) {
    const I lanes = layout.channels == 1 ? 1 : kLanes;
    const I tiles = (layout.channels + lanes - 1) / lanes;
    const int threads = lanes == 1 ? threads_for(layout.reach() / 4) : kThreads;
    const int64_t bytes = lanes == 1 ? 0 : available_threads(threads) * static_cast<int64_t>(sizeof(double));
    const int64_t groups = layout.all_windows() / layout.channels * tiles;
    for_groups(groups, threads, bytes, [=] DIOPI_KERNEL(Group & group, int64_t number) {
        const I lane = group.thread() % lanes;
        const I channel = static_cast<I>(number) % tiles * lanes + lane;
        const I of_all = static_cast<I>(number) / tiles;
        const bool is_channel = channel < layout.channels;
        const InPlane<I> window = {of_all / layout.plane_windows(), of_all % layout.plane_windows(), channel};
        const WindowRange<I> range(layout, window.at);
        const S* const values = x + layout.first_of(window, layout.plane_size());
        const I height = range.is_empty() ? 0 : (range.height.end - range.height.begin - 1) / layout.spread[1] + 1;
        const I width = range.is_empty() ? 0 : (range.width.end - range.width.begin - 1) / layout.spread[2] + 1;
        const I depth = range.is_empty() ? 0 : (range.depth.end - range.depth.begin - 1) / layout.spread[0] + 1;
        double sum = 0;
        for (I i = group.thread() / lanes; is_channel && i < depth * height * width; i += group.size() / lanes) {
            const I z = range.depth.begin + i / width / height * layout.spread[0];
            const I y = range.height.begin + i / width % height * layout.spread[1];
            const I own = (z * layout.size[1] + y) * layout.size[2] + range.width.begin + i % width * layout.spread[2];
            sum += static_cast<double>(static_cast<Compared<S>>(values[own * layout.channels]));
        }
        if (lanes == 1) {
            sum = group.sum(sum);
        } else {
            auto* const sums = group.template shared<double>();
            sums[group.thread()] = sum;
            group.sync();
            for (I k = group.thread() + lanes; group.thread() < lanes && k < group.size(); k += lanes) {
                sum += sums[k];
            }
        }
        if (group.thread() < lanes && is_channel) {
            means[layout.first_of(window, layout.plane_windows()) + window.at * layout.channels] =
                cast<S>(static_cast<Compared<S>>(range.is_empty() ? 0 : sum / divisor.of(range)));
        }
    });
}

template <typename S, typename I>
void return_means(const Layout<I>& layout, S* gradient, const S* grad_out, const DeviceDivisor& divisor) {
    for_each(layout.elements(), [=] DIOPI_KERNEL(int64_t at) {
        const InPlane<I> own = layout.in_plane(static_cast<I>(at), layout.plane_size());
        const I first = layout.first_of(own, layout.plane_windows());
        double sum = 0;
        auto add = [&](I window) {
            const WindowRange<I> range(layout, window);
            if (range.depth.holds(own.at / layout.size[2] / layout.size[1], layout.spread[0]) &&
                range.height.holds(own.at / layout.size[2] % layout.size[1], layout.spread[1]) &&
                range.width.holds(own.at % layout.size[2], layout.spread[2])) {
                const S value = grad_out[first + window * layout.channels];
                sum += static_cast<double>(static_cast<Compared<S>>(value)) / divisor.of(range);
            }
        };
        for_windows_of(layout, own.at, add);
        gradient[at] = cast<S>(static_cast<Compared<S>>(sum));
    });
}

DeviceDivisor on_device(const Divisor& divisor) { return {divisor.has_padding, divisor.fixed.value_or(0)}; }

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void max_pool(const Tensor& out, const Tensor& indices, const Tensor& input, const Pooling& pooling) {
    const cuda::Format format(input, pooling);
    const View of_out = format.of(out);
    const View of_indices = format.of(indices);
    const View of_input = format.of(input);
    dispatch<kNumber>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(of_input.tensor());
        const Output<S> maxima(of_out.tensor());
        const Output<Int64> positions(of_indices.tensor());
        cuda::with_layout(pooling, format.channels(), [&](const auto& layout) {
            cuda::find_maxima<S>(layout, maxima.data(), indices.is_null() ? nullptr : positions.data(), x.data());
        });
        maxima.store();
        positions.store();
    });
}

void max_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                       const Pooling& pooling, const char* index_message) {
    const cuda::Format format(grad_input, pooling);
    const View of_grad_input = format.of(grad_input);
    const View of_grad_output = format.of(grad_output);
    const View of_indices = format.of(indices);
    const Input<Int64> positions(of_indices.tensor());
    const cuda::Check check(index_message);
    cuda::check_positions(check.finding(), positions.data(), indices.numel, volume(pooling.size));
    check.conclude();
    dispatch<kFloating>(grad_output.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> grad_out(of_grad_output.tensor());
        const Output<S> gradient(of_grad_input.tensor());
        cuda::with_layout(pooling, format.channels(), [&](const auto& layout) {
            cuda::return_maxima<S>(layout, gradient.data(), grad_out.data(), positions.data());
        });
        gradient.store();
    });
}

void avg_pool(const Tensor& out, const Tensor& input, const Pooling& pooling, const Divisor& divisor) {
    const cuda::Format format(input, pooling);
    const View of_out = format.of(out);
    const View of_input = format.of(input);
    if (cuda::average_by_dnn(cuda::PoolingResult::kPooled, input, out, pooling, divisor, format)) {
        return;
    }
    dispatch<kFloating>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(of_input.tensor());
        const Output<S> means(of_out.tensor());
        cuda::with_layout(pooling, format.channels(), [&](const auto& layout) {
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
    const cuda::Format format(grad_input, pooling);
    const View of_grad_input = format.of(grad_input);
    const View of_grad_output = format.of(grad_output);
    if (cuda::average_by_dnn(cuda::PoolingResult::kImage, grad_input, grad_output, pooling, divisor, format)) {
        return;
    }
    dispatch<kFloating>(grad_output.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> grad_out(of_grad_output.tensor());
        const Output<S> gradient(of_grad_input.tensor());
        cuda::with_layout(pooling, format.channels(), [&](const auto& layout) {
            cuda::return_means<S>(layout, gradient.data(), grad_out.data(), cuda::on_device(divisor));
        });
        gradient.store();
    });
}

}  // namespace diopigen::core
