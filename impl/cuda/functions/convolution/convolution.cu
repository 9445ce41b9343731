// Convolution by cuDNN where it takes it, else a thread for each element of what is written, a group for each element
// of a weight's gradient. Sums are accumulated in the type that is computed in.
#include "convolution/convolution_kernels.h"
#include "diopi_core/dense.h"
#include "diopi_cuda/dnn.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/windows_of.h"

namespace diopigen::cuda {

namespace {

template <typename T>
void respond(const Shape& shape, T* response, const T* image, const T* weight, const T* bias) {
    const int64_t position_count = shape.positions[0] * shape.positions[1] * shape.positions[2];
    for_each(shape.batch * shape.filters * position_count, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t position = at % shape.position_count();
        const int64_t filter = at / shape.position_count() % shape.filters;
        const int64_t sample = at / shape.position_count() / shape.filters;
        const int64_t first = sample * shape.channels + filter / shape.group_filters * shape.depth;
        T sum = bias != nullptr ? bias[filter] : T(0);
        for (int64_t channel = 0; channel < shape.depth; ++channel) {
            for (int64_t tap = 0; tap < shape.taps(); ++tap) {
                const int64_t seen = shape.seen(position, tap);
                if (seen >= 0) {
                    sum += image[(first + channel) * shape.image() + seen] *
                           weight[(filter * shape.depth + channel) * shape.taps() + tap];
                }
            }
        }
        response[at] = sum;
    });
}

template <typename T>
void respond_transposed(const Shape& shape, T* image, const T* response, const T* weight, const T* bias) {
    for_each(shape.batch * shape.channels * shape.size[0] * shape.size[1] * shape.size[2],
             [=] DIOPI_KERNEL(int64_t at) {
                 const int64_t element = at % shape.image();
                 const int64_t channel = at / shape.image() % shape.channels;
                 const int64_t sample = at / shape.image() / shape.channels;
                 const int64_t first = channel / shape.depth * shape.group_filters;
                 T sum = bias != nullptr ? bias[channel] : T(0);
                 for (int64_t tap = 0; tap < shape.taps(); ++tap) {
                     const int64_t from = shape.position_of(element, tap);
                     for (int64_t filter = first; from >= 0 && filter < first + shape.group_filters; ++filter) {
                         sum += response[(sample * shape.filters + filter) * shape.position_count() + from] *
                                weight[(filter * shape.depth + channel % shape.depth) * shape.taps() + tap];
                     }
                 }
                 image[at] = sum;
             });
}

template <typename T>
void correlate(const Shape& shape, T* gradient, const T* image, const T* response) {
    const int64_t taps = shape.kernel[0] * shape.kernel[1] * shape.kernel[2];
    const int64_t terms = shape.batch * shape.positions[0] * shape.positions[1] * shape.positions[2];
    for_groups(shape.filters * shape.depth * taps, threads_for(terms), 0, [=] DIOPI_KERNEL(Group & group, int64_t at) {
        const int64_t tap = at % shape.taps();
        const int64_t filter = at / shape.taps() / shape.depth;
        const int64_t channel = filter / shape.group_filters * shape.depth + at / shape.taps() % shape.depth;
        T sum(0);
        for (int64_t i = group.thread(); i < terms; i += group.size()) {
            const int64_t sample = i / shape.position_count();
            const int64_t seen = shape.seen(i % shape.position_count(), tap);
            if (seen >= 0) {
                sum +=
                    image[(sample * shape.channels + channel) * shape.image() + seen] *
                    response[(sample * shape.filters + filter) * shape.position_count() + i % shape.position_count()];
            }
        }
        sum = group.sum(sum);
        if (group.thread() == 0) {
            gradient[at] = sum;
        }
    });
}

template <typename T>
void sum_channels(T* sums, const T* x, int64_t samples, int64_t channels, int64_t spatial) {
    for_groups(channels, threads_for(samples * spatial), 0, [=] DIOPI_KERNEL(Group & group, int64_t channel) {
        double sum = 0;
        for (int64_t i = group.thread(); i < samples * spatial; i += group.size()) {
            sum += static_cast<double>(x[(i / spatial * channels + channel) * spatial + i % spatial]);
        }
        sum = group.sum(sum);
        if (group.thread() == 0) {
            sums[channel] = static_cast<T>(sum);
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void respond(const Tensor& response, const Tensor& image, const Tensor& weight, const Tensor& bias,
             const Convolution& convolution) {
    if (cuda::convolve_by_dnn(cuda::ConvolutionProduct::kForward, image, response, weight, bias, convolution)) {
        return;
    }
    dispatch_compute<kFloating>(response.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(image);
        const Input<T> filters(weight);
        const Input<T> added(bias);
        const Output<T> result(response);
        cuda::respond<T>(cuda::Shape(convolution), result.data(), x.data(), filters.data(), added.data());
        result.store();
    });
}

void respond_transposed(const Tensor& image, const Tensor& response, const Tensor& weight, const Tensor& bias,
                        const Convolution& convolution) {
    if (cuda::convolve_by_dnn(cuda::ConvolutionProduct::kBackwardData, image, response, weight, bias, convolution)) {
        return;
    }
    dispatch_compute<kFloating>(image.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(response);
        const Input<T> filters(weight);
        const Input<T> added(bias);
        const Output<T> result(image);
        cuda::respond_transposed<T>(cuda::Shape(convolution), result.data(), x.data(), filters.data(), added.data());
        result.store();
    });
}

void correlate(const Tensor& grad_weight, const Tensor& image, const Tensor& response, const Convolution& convolution) {
    if (cuda::convolve_by_dnn(cuda::ConvolutionProduct::kBackwardFilter, image, response, grad_weight, Tensor(),
                              convolution)) {
        return;
    }
    dispatch_compute<kFloating>(grad_weight.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> seen(image);
        const Input<T> answers(response);
        const Output<T> result(grad_weight);
        cuda::correlate<T>(cuda::Shape(convolution), result.data(), seen.data(), answers.data());
        result.store();
    });
}

void sum_channels(const Tensor& sums, const Tensor& tensor) {
    dispatch_compute<kFloating>(tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(tensor);
        const Output<T> result(sums);
        const int64_t samples = tensor.shape[0];
        const int64_t channels = tensor.shape[1];
        int64_t spatial = 1;
        for (int64_t d = 2; d < tensor.rank; ++d) {
            spatial *= tensor.shape[d];
        }
        cuda::sum_channels<T>(result.data(), x.data(), samples, channels, spatial);
        result.store();
    });
}

}  // namespace diopigen::core
