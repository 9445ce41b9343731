#include "convolution.h"

#include <algorithm>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"

namespace diopi::cpu {

namespace {

// c (rows x columns) = a (rows x inner) times b (inner x columns), added to what is there where `adds` holds; all
// row-major. The one place where the products of convolutions are formed. Every sum runs over `inner` in order, so that
// results do not depend on the number of threads.
template <typename T>
void product(const T* a, const T* b, T* c, int64_t rows, int64_t inner, int64_t columns, bool adds) {
    constexpr int64_t kRows = 4;
    constexpr int64_t kColumns = 256;  // the sums of a tile stay in the first-level cache
    const int64_t row_tiles = (rows + kRows - 1) / kRows;
    const int64_t column_tiles = (columns + kColumns - 1) / kColumns;
    const int64_t work = kRows * std::min(columns, kColumns) * inner;
    parallel_for(row_tiles * column_tiles, 1 + 65536 / (work + 1), [&](int64_t begin, int64_t end) {
        T sums[kRows][kColumns];
        for (int64_t tile = begin; tile < end; ++tile) {
            const int64_t first_row = tile % row_tiles * kRows;
            const int64_t first_column = tile / row_tiles * kColumns;
            const int64_t height = std::min(kRows, rows - first_row);
            const int64_t width = std::min(kColumns, columns - first_column);
            for (int64_t i = 0; i < height; ++i) {
                const T* old = c + (first_row + i) * columns + first_column;
                adds ? std::copy_n(old, width, sums[i]) : std::fill_n(sums[i], width, T(0));
            }
            for (int64_t k = 0; k < inner; ++k) {
                const T* panel = b + k * columns + first_column;
                const T* factors = a + first_row * inner + k;
                for (int64_t i = 0; i < height; ++i) {
                    const T factor = factors[i * inner];
                    for (int64_t j = 0; j < width; ++j) {
                        sums[i][j] += factor * panel[j];
                    }
                }
            }
            for (int64_t i = 0; i < height; ++i) {
                std::copy_n(sums[i], width, c + (first_row + i) * columns + first_column);
            }
        }
    });
}

template <typename T>
class Scratch {
  public:
    explicit Scratch(int64_t count) { buffer_.allocate(count * static_cast<int64_t>(sizeof(T))); }
    T* data() const { return static_cast<T*>(buffer_.data()); }

  private:
    Buffer buffer_;
};

// Calls `visit(image, group, columns)` for every group of every image, with room for the columns of a group. Groups are
// spread over the threads where there are several; else the threads are left to what `visit` does.
template <typename T, typename Visit>
void for_each_group(const Convolution& convolution, Visit&& visit) {
    const int64_t room = convolution.elements() * volume(convolution.sliding.positions);
    const int64_t work = room * convolution.group_filters();
    parallel_for(convolution.batch * convolution.groups, 1 + 65536 / (work + 1), [&](int64_t begin, int64_t end) {
        const Scratch<T> columns(room);
        for (int64_t i = begin; i < end; ++i) {
            visit(i / convolution.groups, i % convolution.groups, columns.data());
        }
    });
}

// Adds the value of its channel to every element of [batch, channels, size].
template <typename T>
void add_bias(T* values, const T* bias, int64_t batch, int64_t channels, int64_t size) {
    parallel_for(batch * channels, 1 + 16384 / (size + 1), [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
            const T summand = bias[plane % channels];
            for (int64_t i = plane * size; i < (plane + 1) * size; ++i) {
                values[i] += summand;
            }
        }
    });
}

}  // namespace

void respond(const Tensor& response, const Tensor& image, const Tensor& weight, const Tensor& bias,
             const Convolution& convolution) {
    if (response.numel == 0) {
        return;
    }
    const Sliding& sliding = convolution.sliding;
    const int64_t positions = volume(sliding.positions);
    const int64_t elements = convolution.elements();
    const int64_t filters = convolution.group_filters();
    dispatch_compute<kFloating>(response.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(image);
        const Input<T> w(weight);
        const Input<T> b(bias);
        const Output<T> y(response);
        for_each_group<T>(convolution, [&](int64_t n, int64_t group, T* columns) {
            const int64_t plane = (n * convolution.groups + group) * convolution.depth();
            const T* seen = x.data() + plane * volume(sliding.size);
            if (!sliding.is_identity()) {
                unfold(sliding, convolution.depth(), seen, columns, positions, 1);
                seen = columns;
            }
            product(w.data() + group * filters * elements, seen,
                    y.data() + (n * convolution.groups + group) * filters * positions, filters, elements, positions,
                    false);
        });
        if (b) {
            add_bias(y.data(), b.data(), convolution.batch, convolution.filters, positions);
        }
        y.store();
    });
}

void place(const Tensor& image, const Tensor& response, const Tensor& weight, const Tensor& bias,
           const Convolution& convolution) {
    if (image.numel == 0) {
        return;
    }
    const Sliding& sliding = convolution.sliding;
    const int64_t positions = volume(sliding.positions);
    const int64_t elements = convolution.elements();
    const int64_t filters = convolution.group_filters();
    dispatch_compute<kFloating>(image.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> y(response);
        const Input<T> w(weight);
        const Input<T> b(bias);
        const Output<T> x(image);
        const Scratch<T> transposed(convolution.filters * elements);
        for (int64_t filter = 0; filter < convolution.filters; ++filter) {
            T* to = transposed.data() + filter / filters * filters * elements + filter % filters;
            for (int64_t i = 0; i < elements; ++i) {
                to[i * filters] = w[filter * elements + i];
            }
        }
        for_each_group<T>(convolution, [&](int64_t n, int64_t group, T* columns) {
            const int64_t at = n * convolution.groups + group;
            const int64_t size = convolution.depth() * volume(sliding.size);
            T* target = x.data() + at * size;
            T* sums = sliding.is_identity() ? target : columns;
            product(transposed.data() + group * filters * elements, y.data() + at * filters * positions, sums, elements,
                    filters, positions, false);
            if (sums != target) {
                std::fill_n(target, size, T(0));
                fold(sliding, convolution.depth(), sums, target);
            }
        });
        if (b) {
            add_bias(x.data(), b.data(), convolution.batch, convolution.channels, volume(sliding.size));
        }
        x.store();
    });
}

void correlate(const Tensor& grad_weight, const Tensor& image, const Tensor& response, const Convolution& convolution) {
    const Sliding& sliding = convolution.sliding;
    const int64_t positions = volume(sliding.positions);
    const int64_t elements = convolution.elements();
    const int64_t filters = convolution.group_filters();
    dispatch_compute<kFloating>(grad_weight.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(image);
        const Input<T> y(response);
        const Output<T> gradient(grad_weight);
        std::fill_n(gradient.data(), grad_weight.numel, T(0));
        const int64_t work = convolution.batch * filters * elements * positions;
        parallel_for(convolution.groups, 1 + 65536 / (work + 1), [&](int64_t begin, int64_t end) {
            const Scratch<T> rows(elements * positions);
            for (int64_t group = begin; group < end; ++group) {
                for (int64_t n = 0; n < convolution.batch; ++n) {
                    const int64_t at = n * convolution.groups + group;
                    // Every position a row, which is the columns transposed.
                    unfold(sliding, convolution.depth(), x.data() + at * convolution.depth() * volume(sliding.size),
                           rows.data(), 1, elements);
                    product(y.data() + at * filters * positions, rows.data(),
                            gradient.data() + group * filters * elements, filters, positions, elements, true);
                }
            }
        });
        gradient.store();
    });
}

void sum_channels(const Tensor& sums, const Tensor& tensor) {
    dispatch_compute<kFloating>(tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> values(tensor);
        const Output<T> results(sums);
        const int64_t channels = tensor.shape[1];
        const int64_t size = tensor.numel == 0 ? 0 : tensor.numel / (tensor.shape[0] * channels);
        parallel_for(channels, 1 + 16384 / (tensor.shape[0] * size + 1), [&](int64_t begin, int64_t end) {
            for (int64_t channel = begin; channel < end; ++channel) {
                double sum = 0;
                for (int64_t n = 0; n < tensor.shape[0]; ++n) {
                    const T* plane = values.data() + (n * channels + channel) * size;
                    for (int64_t i = 0; i < size; ++i) {
                        sum += plane[i];
                    }
                }
                results[channel] = static_cast<T>(sum);
            }
        });
        results.store();
    });
}

}  // namespace diopi::cpu
