// Reductions, and what orders elements.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiSum(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                      diopiSize_t /*dim*/) {
    return diopiNoImplement;
}

diopiError_t diopiTopk(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*values*/, diopiTensorHandle_t /*indices*/,
                       diopiConstTensorHandle_t /*input*/, int64_t /*k*/, int64_t /*dim*/, bool /*largest*/,
                       bool /*sorted*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
