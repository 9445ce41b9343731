// Normalization over a batch or a layer.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiBatchNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/,
                            diopiTensorHandle_t /*save_mean*/, diopiTensorHandle_t /*save_invstd*/,
                            diopiConstTensorHandle_t /*input*/, diopiConstTensorHandle_t /*weight*/,
                            diopiConstTensorHandle_t /*bias*/, diopiTensorHandle_t /*running_mean*/,
                            diopiTensorHandle_t /*running_var*/, bool /*training*/, double /*momentum*/,
                            double /*eps*/) {
    return diopiNoImplement;
}

diopiError_t diopiBatchNormBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*grad_input*/,
                                    diopiTensorHandle_t /*grad_weight*/, diopiTensorHandle_t /*grad_bias*/,
                                    diopiConstTensorHandle_t /*grad_output*/, diopiConstTensorHandle_t /*input*/,
                                    diopiConstTensorHandle_t /*weight*/, diopiConstTensorHandle_t /*running_mean*/,
                                    diopiConstTensorHandle_t /*running_var*/, diopiConstTensorHandle_t /*save_mean*/,
                                    diopiConstTensorHandle_t /*save_invstd*/, bool /*training*/, double /*eps*/) {
    return diopiNoImplement;
}

diopiError_t diopiLayerNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/,
                            diopiTensorHandle_t /*save_mean*/, diopiTensorHandle_t /*save_invstd*/,
                            diopiConstTensorHandle_t /*input*/, diopiConstTensorHandle_t /*weight*/,
                            diopiConstTensorHandle_t /*bias*/, diopiSize_t /*normalized_shape*/, double /*eps*/) {
    return diopiNoImplement;
}

diopiError_t diopiLayerNormBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*grad_input*/,
                                    diopiTensorHandle_t /*grad_weight*/, diopiTensorHandle_t /*grad_bias*/,
                                    diopiConstTensorHandle_t /*grad_output*/, diopiConstTensorHandle_t /*input*/,
                                    diopiConstTensorHandle_t /*weight*/, diopiConstTensorHandle_t /*bias*/,
                                    diopiConstTensorHandle_t /*mean*/, diopiConstTensorHandle_t /*rstd*/,
                                    diopiSize_t /*normalized_shape*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
