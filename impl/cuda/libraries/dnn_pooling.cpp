// Means of sliding windows are cuDNN's average pooling. Maxima are not its maximum pooling: it is reported to begin
// with the lowest finite number, above negative infinity, and does not say which of equal elements gets the gradient.
#include <climits>

#include "diopi_core/raw_elements.h"
#include "diopi_cuda/dnn.h"
#include "dnn_descriptions.h"

namespace diopigen::cuda {

namespace {

using PoolingDescription =
    dnn::Described<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor, cudnnDestroyPoolingDescriptor>;

// Whether the numbers fit into cuDNN's, and its windows and what it divides by are those of the operator.
bool serves(const Tensor& image, const Tensor& pooled, const Pooling& pooling, const Divisor& divisor) {
    bool serves = dnn::type_of(image.dtype) && image.dtype == pooled.dtype && image.numel > 0 &&
                  image.numel <= INT_MAX && pooled.numel > 0 && pooled.numel <= INT_MAX && !pooling.is_adaptive &&
                  !divisor.fixed;
    for (int k = 0; serves && k < kSpace; ++k) {
        // No window sticks out of the padded image, and each holds more than padding.
        serves = pooling.window.count(k, pooling.size[k]) == pooling.windows[k] &&
                 pooling.window.pad[k] < pooling.window.kernel[k] && pooling.window.spread[k] == 1;
    }
    return serves;
}

}  // namespace

bool average_by_dnn(PoolingResult result, const Tensor& image, const Tensor& pooled, const Pooling& pooling,
                    const Divisor& divisor, MemoryFormat format) {
    if (!serves(image, pooled, pooling, divisor)) {
        return false;
    }
    const Window& window = pooling.window;
    const int space = dnn::dimensions(window, pooling.size, pooling.windows);
    const auto channels = static_cast<int>(image.shape[image.rank - pooling.space - 1]);
    const auto batch = static_cast<int>(pooling.planes / channels);
    const cudnnDataType_t type = *dnn::type_of(image.dtype);
    const dnn::TensorDescription of_image;
    const dnn::TensorDescription of_pooled;
    dnn::describe(of_image, type, format, dnn::last_of(space, pooling.size, {batch, channels}));
    dnn::describe(of_pooled, type, format, dnn::last_of(space, pooling.windows, {batch, channels}));
    const PoolingDescription windows;
    const auto mode =
        divisor.has_padding ? CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING : CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    dnn::check_dnn(cudnnSetPoolingNdDescriptor(
                       windows.object, mode, CUDNN_PROPAGATE_NAN, space, dnn::last_of(space, window.kernel).data(),
                       dnn::last_of(space, window.pad).data(), dnn::last_of(space, window.stride).data()),
                   "describe windows");
    const double doubles[] = {1, 0};
    const float floats[] = {1, 0};
    const bool is_double = image.dtype == Dtype::kFloat64;
    const auto factor = [&](int k) {
        return is_double ? static_cast<const void*>(doubles + k) : static_cast<const void*>(floats + k);
    };
    const bool is_forward = result == PoolingResult::kPooled;
    const View images = arranged(image, pooling.space, format);
    const View means = arranged(pooled, pooling.space, format);
    const RawInput from((is_forward ? images : means).tensor());
    const RawOutput to((is_forward ? means : images).tensor());
    const auto* const read = from.as<char>();
    auto* const written = to.as<char>();
    const dnn::Handle handle;
    // How a mean changes does not depend on the elements: in the place of the images of the forward call are others of
    // their sizes.
    const cudnnStatus_t status =
        is_forward ? cudnnPoolingForward(handle, windows.object, factor(0), of_image.object, read, factor(1),
                                         of_pooled.object, written)
                   : cudnnPoolingBackward(handle, windows.object, factor(0), of_pooled.object, read, of_pooled.object,
                                          read, of_image.object, written, factor(1), of_image.object, written);
    if (dnn::is_unsupported(status)) {
        return false;
    }
    dnn::check_dnn(status, "pool");
    to.store();
    return true;
}

}  // namespace diopigen::cuda
