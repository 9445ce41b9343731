// Convolution over images; the chip wants the channels last.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiConvolution2d(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/,
                                diopiConstTensorHandle_t /*input*/, diopiConstTensorHandle_t /*weight*/,
                                diopiConstTensorHandle_t /*bias*/, diopiSize_t /*stride*/, diopiSize_t /*padding*/,
                                diopiSize_t /*dilation*/, int64_t /*groups*/) {
    return diopiNoImplement;
}

diopiError_t diopiConvolution2dBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*grad_input*/,
                                        diopiTensorHandle_t /*grad_weight*/, diopiTensorHandle_t /*grad_bias*/,
                                        diopiConstTensorHandle_t /*grad_output*/, diopiConstTensorHandle_t /*input*/,
                                        diopiConstTensorHandle_t /*weight*/, diopiSize_t* /*bias_sizes*/,
                                        diopiSize_t /*stride*/, diopiSize_t /*padding*/, diopiSize_t /*dilation*/,
                                        int64_t /*groups*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
