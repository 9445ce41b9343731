// What picks, joins and scatters elements.

#include <diopi/functions.h>

namespace impl::camb {

diopiError_t diopiCat(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t* /*tensors*/,
                      int64_t /*num_inputs*/, int64_t /*dim*/) {
    return diopiNoImplement;
}

diopiError_t diopiIndexSelect(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/,
                              diopiConstTensorHandle_t /*input*/, int64_t /*dim*/, diopiConstTensorHandle_t /*index*/) {
    return diopiNoImplement;
}

diopiError_t diopiNonzero(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t* /*out*/,
                          diopiConstTensorHandle_t /*input*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
