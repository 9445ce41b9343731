#include <algorithm>
#include <atomic>

#include "convolution/convolution_kernels.h"
#include "diopi_core/dense.h"
#include "diopi_core/gemm.h"
#include "diopi_core/threads.h"
#include "diopi_cpu/finite.h"
#include "onednn_convolution.h"
#include "skip_padding.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// c (rows x columns) = a (rows x inner) times b (inner x columns), added to what is there where `adds` holds; all
// row-major. The one function where the products of convolutions are formed.
template <typename T>
void product(const T* a, const T* b, T* c, int64_t rows, int64_t inner, int64_t columns, bool adds) {
    gemm<T>({rows, inner, columns}, T(1), {a, inner}, {b, columns}, T(adds ? 1 : 0), c, columns);
}

// Whether the convolution is a product of matrices as they lie, large enough to gain from not being brought into
// another layout. oneDNN's own products of bfloat16 are faster than those in float.
bool prefers_products(const Convolution& convolution, Dtype dtype) {
    constexpr int64_t kPositions = 128;
    return dtype == Dtype::kFloat32 && convolution.sliding.is_identity() && convolution.groups == 1 &&
           (convolution.batch == 1 || volume(convolution.sliding.positions) >= kPositions);
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
    if (response.numel == 0 ||
        (!prefers_products(convolution, image.dtype) && onednn::respond(response, image, weight, bias, convolution))) {
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
        std::atomic<bool> is_finite{true};
        for_each_group<T>(convolution, [&](int64_t n, int64_t group, T* columns) {
            const int64_t plane = (n * convolution.groups + group) * convolution.depth();
            const T* seen = x.data() + plane * volume(sliding.size);
            if (!sliding.is_identity()) {
                unfold(sliding, convolution.depth(), seen, columns, positions);
                seen = columns;
            }
            T* const sums = y.data() + (n * convolution.groups + group) * filters * positions;
            product(w.data() + group * filters * elements, seen, sums, filters, elements, positions, false);
            // Here they are still in the processor's cache.
            if (!are_finite(sums, filters * positions)) {
                is_finite = false;
            }
        });
        if (!is_finite) {
            respond_without_padding(convolution, x.data(), w.data(), y.data());
        }
        if (b) {
            add_bias(y.data(), b.data(), convolution.batch, convolution.filters, positions);
        }
        y.store();
    });
}

void respond_transposed(const Tensor& image, const Tensor& response, const Tensor& weight, const Tensor& bias,
                        const Convolution& convolution) {
    if (image.numel == 0 || (bias.is_null() && !prefers_products(convolution, image.dtype) &&
                             onednn::respond_transposed(image, response, weight, convolution))) {
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
        for_each_group<T>(convolution, [&](int64_t n, int64_t group, T* columns) {
            const int64_t at = n * convolution.groups + group;
            const int64_t size = convolution.depth() * volume(sliding.size);
            T* target = x.data() + at * size;
            T* sums = sliding.is_identity() ? target : columns;
            const T* own = w.data() + group * filters * elements;
            gemm<T>({elements, filters, positions}, T(1), {own, elements, true},
                    {y.data() + at * filters * positions, positions}, T(0), sums, positions);
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
    // With few channels oneDNN's sums depend on the number of threads, and take longer.
    constexpr int64_t kFewChannels = 16;
    const bool has_few = convolution.groups == 1 && convolution.channels < kFewChannels;
    if (!has_few && !prefers_products(convolution, image.dtype) &&
        onednn::correlate(grad_weight, image, response, convolution)) {
        return;
    }
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
            const Scratch<T> columns(sliding.is_identity() ? 0 : elements * positions);
            for (int64_t group = begin; group < end; ++group) {
                for (int64_t n = 0; n < convolution.batch; ++n) {
                    const int64_t at = n * convolution.groups + group;
                    const T* seen = x.data() + at * convolution.depth() * volume(sliding.size);
                    if (!sliding.is_identity()) {
                        unfold(sliding, convolution.depth(), seen, columns.data(), positions);
                        seen = columns.data();
                    }
                    gemm<T>({filters, positions, elements}, T(1), {y.data() + at * filters * positions, positions},
                            {seen, positions, true}, T(1), gradient.data() + group * filters * elements, elements);
                }
            }
        });
        if (!are_finite(gradient.data(), grad_weight.numel)) {
            correlate_without_padding(convolution, x.data(), y.data(), gradient.data());
        }
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

}  // namespace diopigen::core
