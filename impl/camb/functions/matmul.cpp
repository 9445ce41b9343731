// Products of matrices.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiMm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                     diopiConstTensorHandle_t /*mat2*/) {
    return diopiNoImplement;
}

diopiError_t diopiBmm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                      diopiConstTensorHandle_t /*mat2*/) {
    return diopiNoImplement;
}

diopiError_t diopiMatmul(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                         diopiConstTensorHandle_t /*other*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
