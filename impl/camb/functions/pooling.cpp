// Pooling over images; the chip wants the channels last.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiMaxPool2dWithIndices(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/,
                                       diopiTensorHandle_t /*indices*/, diopiConstTensorHandle_t /*input*/,
                                       diopiSize_t /*kernel_size*/, diopiSize_t /*stride*/, diopiSize_t /*padding*/,
                                       diopiSize_t /*dilation*/, bool /*ceil_mode*/) {
    return diopiNoImplement;
}

diopiError_t diopiMaxPool2dBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*grad_input*/,
                                    diopiConstTensorHandle_t /*grad_output*/, diopiConstTensorHandle_t /*input*/,
                                    diopiSize_t /*kernel_size*/, diopiSize_t /*stride*/, diopiSize_t /*padding*/,
                                    diopiSize_t /*dilation*/, bool /*ceil_mode*/,
                                    diopiConstTensorHandle_t /*indices*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
