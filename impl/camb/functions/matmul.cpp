// Products of matrices.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiMatmul(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                         diopiConstTensorHandle_t /*other*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
