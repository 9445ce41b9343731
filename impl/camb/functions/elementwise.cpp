// Arithmetic, element by element.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiAdd(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                      diopiConstTensorHandle_t /*other*/, const diopiScalar_t* /*alpha*/) {
    return diopiNoImplement;
}

diopiError_t diopiAddInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*input*/,
                         diopiConstTensorHandle_t /*other*/, const diopiScalar_t* /*alpha*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
