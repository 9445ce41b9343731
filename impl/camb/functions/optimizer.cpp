// Steps of optimizers.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiAdam(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*param*/, diopiConstTensorHandle_t /*grad*/,
                       diopiTensorHandle_t /*exp_avg*/, diopiTensorHandle_t /*exp_avg_sq*/,
                       diopiTensorHandle_t /*max_exp_avg_sq*/, float /*lr*/, float /*beta1*/, float /*beta2*/,
                       float /*eps*/, float /*weight_decay*/, int64_t /*step*/, bool /*amsgrad*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
