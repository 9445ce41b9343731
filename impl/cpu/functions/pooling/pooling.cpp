#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "diopi_core/threads.h"
#include "pooling/pooling_kernels.h"
#include "window_rows.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// What a window covers along one dimension: the elements begin, begin + spread, ... below end. `padded` counts the
// padding as well. A window that holds padding alone has end <= begin.
struct Span {
    int64_t begin;
    int64_t end;
    int64_t padded;
};

struct WindowRange {
    const Span& depth;
    const Span& height;
    const Span& width;
};

// A pooling with the spans of its windows.
struct Layout : Pooling {
    std::array<std::vector<Span>, kSpace> spans;

    explicit Layout(const Pooling& pooling) : Pooling(pooling) {
        const bool is_empty = std::find(windows.begin(), windows.end(), 0) != windows.end();
        for (int k = 0; k < kSpace && planes > 0 && !is_empty; ++k) {
            for (int64_t i = 0; i < windows[k]; ++i) {
                spans[k].push_back(is_adaptive ? part(k, i) : slid(k, i));
            }
        }
    }

    WindowRange range_of(int64_t i) const {
        return {spans[0][i / (windows[2] * windows[1])], spans[1][i / windows[2] % windows[1]],
                spans[2][i % windows[2]]};
    }

  private:
    Span part(int k, int64_t i) const {
        const int64_t begin = i * size[k] / windows[k];
        const int64_t end = ((i + 1) * size[k] + windows[k] - 1) / windows[k];
        return {begin, end, end - begin};
    }

    Span slid(int k, int64_t i) const {
        const int64_t spread = window.spread[k];
        const int64_t start = i * window.stride[k] - window.pad[k];
        const int64_t end = start + window.extent(k);
        const int64_t begin = start >= 0 ? start : start + (-start + spread - 1) / spread * spread;
        return {begin, std::min(end, size[k]), std::min(end, size[k] + window.pad[k]) - start};
    }
};

// Calls `visit(i)` for the elements of a window, i counting in the plane.
template <typename Visit>
void for_each_element(const Layout& layout, const WindowRange& range, Visit&& visit) {
    for (int64_t z = range.depth.begin; z < range.depth.end; z += layout.window.spread[0]) {
        for (int64_t y = range.height.begin; y < range.height.end; y += layout.window.spread[1]) {
            const int64_t row = (z * layout.size[1] + y) * layout.size[2];
            for (int64_t x = range.width.begin; x < range.width.end; x += layout.window.spread[2]) {
                visit(row + x);
            }
        }
    }
}

double divisor_of(const WindowRange& range, const Divisor& divisor) {
    if (divisor.fixed) {
        return static_cast<double>(*divisor.fixed);
    }
    const auto length = [&](const Span& span) {
        return static_cast<double>(divisor.has_padding ? span.padded : span.end - span.begin);
    };
    return length(range.depth) * length(range.height) * length(range.width);
}

bool is_empty(const WindowRange& range) {
    return range.depth.end <= range.depth.begin || range.height.end <= range.height.begin ||
           range.width.end <= range.width.begin;
}

// What the sums of a row of windows are divided by: infinity marks a window that holds padding alone.
std::vector<double> divisors_of_row(const Layout& layout, const Divisor& divisor, int64_t row) {
    std::vector<double> divisors;
    divisors.reserve(layout.spans[2].size());
    const Span& depth = layout.spans[0][static_cast<size_t>(row / layout.windows[1])];
    const Span& height = layout.spans[1][static_cast<size_t>(row % layout.windows[1])];
    for (const Span& width : layout.spans[2]) {
        const WindowRange range{depth, height, width};
        divisors.push_back(is_empty(range) ? std::numeric_limits<double>::infinity() : divisor_of(range, divisor));
    }
    return divisors;
}

// Calls `visit(plane, window)` for every window, spread over the threads.
template <typename Visit>
void for_each_window(const Pooling& pooling, Visit&& visit) {
    if (pooling.planes == 0 || volume(pooling.windows) == 0) {
        return;
    }
    const int64_t windows = volume(pooling.windows);
    const int64_t work = 1 + volume(pooling.size) / windows;
    parallel_for(pooling.planes * windows, 1 + 8192 / work, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            visit(i / windows, i % windows);
        }
    });
}

// Zeros the gradient of every plane and calls `visit(plane, window)` for its windows in order; planes are spread over
// the threads.
template <typename T, typename Visit>
void for_each_gradient(const Pooling& pooling, T* gradient, Visit&& visit) {
    if (pooling.planes == 0) {
        return;
    }
    const int64_t windows = volume(pooling.windows);
    const int64_t size = volume(pooling.size);
    parallel_for(pooling.planes, 1 + 8192 / (size + windows + 1), [&](int64_t begin, int64_t end) {
        std::fill(gradient + begin * size, gradient + end * size, T(0));
        for (int64_t plane = begin; plane < end; ++plane) {
            for (int64_t window = 0; window < windows; ++window) {
                visit(plane, window);
            }
        }
    });
}

// Calls `visit(plane, row)` for every row of sliding windows, spread over the threads.
template <typename Visit>
void for_each_window_row(const Pooling& pooling, Visit&& visit) {
    const int64_t rows = pooling.windows[0] * pooling.windows[1];
    const int64_t work = 1 + pooling.windows[2] * volume(pooling.window.kernel);
    parallel_for(pooling.planes * rows, 1 + 8192 / work, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            visit(i / rows, i % rows);
        }
    });
}

// The gradient of means of sliding windows: every window's fraction goes to its elements.
template <typename T>
void distribute_rows(const Layout& layout, const Divisor& divisor, const T* grad_out, T* gradient) {
    const int64_t width = layout.windows[2];
    const int64_t rows = layout.windows[0] * layout.windows[1];
    const int64_t size = volume(layout.size);
    const int64_t stride = layout.window.stride[2];
    const int64_t work = size + rows * width * volume(layout.window.kernel);
    parallel_for(layout.planes, 1 + 8192 / (work + 1), [&](int64_t begin, int64_t end) {
        std::vector<T> fractions(static_cast<size_t>(width));
        for (int64_t plane = begin; plane < end; ++plane) {
            T* target = gradient + plane * size;
            std::fill_n(target, size, T(0));
            for (int64_t row = 0; row < rows; ++row) {
                const std::vector<double> divisors = divisors_of_row(layout, divisor, row);
                for (size_t i = 0; i < fractions.size(); ++i) {
                    const double value = grad_out[(plane * rows + row) * width + static_cast<int64_t>(i)];
                    fractions[i] = static_cast<T>(value / divisors[i]);
                }
                for_each_element_of_row(layout, row, [&](int64_t source, int64_t first, int64_t count) {
                    const T* fraction = fractions.data() + first;
                    T* to = target + source;
                    for (int64_t i = 0; i < count; ++i) {
                        to[i * stride] += fraction[i];
                    }
                });
            }
        }
    });
}

}  // namespace

void max_pool(const Tensor& out, const Tensor& indices, const Tensor& input, const Pooling& pooling) {
    const Layout layout(pooling);
    dispatch_compute<kNumber>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Output<T> maxima(out);
        const Output<Int64> positions(indices);
        const bool has_indices = !indices.is_null();
        const int64_t width = pooling.windows[2];
        if (!pooling.is_adaptive) {
            for_each_window_row(pooling, [&](int64_t plane, int64_t row) {
                thread_local std::vector<int64_t> best_positions;
                best_positions.assign(static_cast<size_t>(width), -1);
                const T* values = x.data() + plane * volume(pooling.size);
                const int64_t at = plane * volume(pooling.windows) + row * width;
                T* best = maxima.data() + at;
                std::fill_n(best, width, lowest<T>());
                for_each_element_of_row(pooling, row, [&](int64_t source, int64_t first, int64_t count) {
                    take_larger(values + source, pooling.window.stride[2], count, source, best + first,
                                best_positions.data() + first);
                });
                if (has_indices) {
                    std::transform(best_positions.begin(), best_positions.end(), positions.data() + at,
                                   [](int64_t range) { return Int64(range); });
                }
            });
            maxima.store();
            positions.store();
            return;
        }
        for_each_window(pooling, [&](int64_t plane, int64_t window) {
            const T* values = x.data() + plane * volume(pooling.size);
            T largest = lowest<T>();
            int64_t position = -1;
            for_each_element(layout, layout.range_of(window), [&](int64_t i) {
                if (position < 0 || values[i] > largest || isnan(values[i])) {
                    largest = values[i];
                    position = i;
                }
            });
            const int64_t at = plane * volume(pooling.windows) + window;
            maxima[at] = largest;
            if (has_indices) {
                positions[at] = Int64(position);
            }
        });
        maxima.store();
        positions.store();
    });
}

void max_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                       const Pooling& pooling, const char* best_positions) {
    const Layout layout(pooling);
    const Input<Int64> positions(indices);
    const int64_t size = volume(pooling.size);
    require(are_positions(positions.data(), indices.numel, size), best_positions);
    dispatch_compute<kFloating>(grad_output.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> grad_out(grad_output);
        const Output<T> gradient(grad_input);
        for_each_gradient(pooling, gradient.data(), [&](int64_t plane, int64_t window) {
            const int64_t at = plane * volume(pooling.windows) + window;
            if (positions[at].value >= 0) {
                gradient[plane * size + positions[at].value] += grad_out[at];
            }
        });
        gradient.store();
    });
}

void avg_pool(const Tensor& out, const Tensor& input, const Pooling& pooling, const Divisor& divisor) {
    const Layout layout(pooling);
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Output<T> means(out);
        const int64_t width = pooling.windows[2];
        if (!pooling.is_adaptive) {
            for_each_window_row(pooling, [&](int64_t plane, int64_t row) {
                thread_local std::vector<double> sums;
                sums.assign(static_cast<size_t>(width), 0.0);
                const T* values = x.data() + plane * volume(pooling.size);
                for_each_element_of_row(pooling, row, [&](int64_t source, int64_t first, int64_t count) {
                    add_strided(values + source, pooling.window.stride[2], count, sums.data() + first);
                });
                T* result = means.data() + plane * volume(pooling.windows) + row * width;
                const std::vector<double> divisors = divisors_of_row(layout, divisor, row);
                for (size_t i = 0; i < sums.size(); ++i) {
                    result[i] = static_cast<T>(sums[i] / divisors[i]);
                }
            });
            means.store();
            return;
        }
        for_each_window(pooling, [&](int64_t plane, int64_t window) {
            const T* values = x.data() + plane * volume(pooling.size);
            const WindowRange range = layout.range_of(window);
            double sum = 0;
            for (int64_t z = range.depth.begin; z < range.depth.end; ++z) {
                for (int64_t y = range.height.begin; y < range.height.end; ++y) {
                    const int64_t first = (z * pooling.size[1] + y) * pooling.size[2] + range.width.begin;
                    sum += sum_run(values + first, range.width.end - range.width.begin);
                }
            }
            const double mean = is_empty(range) ? 0 : sum / divisor_of(range, divisor);
            means[plane * volume(pooling.windows) + window] = static_cast<T>(mean);
        });
        means.store();
    });
}

void avg_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Pooling& pooling,
                       const Divisor& divisor) {
    const Layout layout(pooling);
    dispatch_compute<kFloating>(grad_output.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> grad_out(grad_output);
        const Output<T> gradient(grad_input);
        if (!pooling.is_adaptive) {
            distribute_rows(layout, divisor, grad_out.data(), gradient.data());
            gradient.store();
            return;
        }
        for_each_gradient(pooling, gradient.data(), [&](int64_t plane, int64_t window) {
            const WindowRange range = layout.range_of(window);
            if (is_empty(range)) {
                return;
            }
            const double value = grad_out[plane * volume(pooling.windows) + window];
            const T fraction = static_cast<T>(value / divisor_of(range, divisor));
            T* target = gradient.data() + plane * volume(pooling.size);
            for_each_element(layout, range, [&](int64_t i) { target[i] += fraction; });
        });
        gradient.store();
    });
}

}  // namespace diopigen::core
