// Activations and their gradients.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiRelu(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/) {
    return diopiNoImplement;
}

diopiError_t diopiReluInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*input*/) { return diopiNoImplement; }

diopiError_t diopiSoftmax(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                          int64_t /*dim*/) {
    return diopiNoImplement;
}

diopiError_t diopiSoftmaxBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*grad_input*/,
                                  diopiConstTensorHandle_t /*grad_output*/, diopiConstTensorHandle_t /*output*/,
                                  int64_t /*dim*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
