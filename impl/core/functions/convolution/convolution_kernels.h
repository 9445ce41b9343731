// Convolution of one to three dimensions. A convolution maps images to responses; the transposed one maps responses to
// images. So both, with all their gradients, are composed of the three products below.
#ifndef DIOPI_CORE_FUNCTIONS_CONVOLUTION_CONVOLUTION_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_CONVOLUTION_CONVOLUTION_KERNELS_H_

#include <cstdint>

#include "diopi_core/tensor.h"
#include "diopi_core/unfold.h"

namespace diopigen::core {

// Images are [batch, channels, *sliding.size], responses [batch, filters, *sliding.positions] and the weight is
// [filters, channels / groups, *sliding.window.kernel].
struct Convolution {
    int64_t batch;
    int64_t channels;
    int64_t filters;
    int64_t groups;
    Sliding sliding;

    int64_t depth() const { return channels / groups; }
    int64_t group_filters() const { return filters / groups; }
    // How many elements of an image a response sees.
    int64_t elements() const { return depth() * volume(sliding.window.kernel); }
};

// The response of every filter at every position. `bias`, one summand per filter, may be null.
void respond(const Tensor& response, const Tensor& image, const Tensor& weight, const Tensor& bias,
             const Convolution& convolution);
// The filters placed at every position, multiplied by the responses. `bias`, one summand per channel, may be null.
void respond_transposed(const Tensor& image, const Tensor& response, const Tensor& weight, const Tensor& bias,
                        const Convolution& convolution);
// The gradient of the weight: the sum over batch and positions of response times what the filter saw of the image.
void correlate(const Tensor& grad_weight, const Tensor& image, const Tensor& response, const Convolution& convolution);
// The sum over batch and positions per channel of [N, C, *space].
void sum_channels(const Tensor& sums, const Tensor& tensor);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_CONVOLUTION_CONVOLUTION_KERNELS_H_
