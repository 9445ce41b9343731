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

diopiError_t diopiAddScalar(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/,
                            diopiConstTensorHandle_t /*input*/, const diopiScalar_t* /*other*/,
                            const diopiScalar_t* /*alpha*/) {
    return diopiNoImplement;
}

diopiError_t diopiAddInpScalar(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*input*/,
                               const diopiScalar_t* /*other*/, const diopiScalar_t* /*alpha*/) {
    return diopiNoImplement;
}

diopiError_t diopiSubInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*input*/,
                         diopiConstTensorHandle_t /*other*/, const diopiScalar_t* /*alpha*/) {
    return diopiNoImplement;
}

diopiError_t diopiSub(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                      diopiConstTensorHandle_t /*other*/, const diopiScalar_t* /*alpha*/) {
    return diopiNoImplement;
}

diopiError_t diopiMul(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                      diopiConstTensorHandle_t /*other*/) {
    return diopiNoImplement;
}

diopiError_t diopiMulInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*input*/,
                         diopiConstTensorHandle_t /*other*/) {
    return diopiNoImplement;
}

diopiError_t diopiMulScalar(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/,
                            diopiConstTensorHandle_t /*input*/, const diopiScalar_t* /*other*/) {
    return diopiNoImplement;
}

diopiError_t diopiDiv(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/,
                      diopiConstTensorHandle_t /*other*/, diopiRoundMode_t /*rounding_mode*/) {
    return diopiNoImplement;
}

diopiError_t diopiDivInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*input*/,
                         diopiConstTensorHandle_t /*other*/, diopiRoundMode_t /*rounding_mode*/) {
    return diopiNoImplement;
}

diopiError_t diopiExp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/) {
    return diopiNoImplement;
}

diopiError_t diopiSqrt(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/) {
    return diopiNoImplement;
}

diopiError_t diopiNeg(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/, diopiConstTensorHandle_t /*input*/) {
    return diopiNoImplement;
}

diopiError_t diopiWhere(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t /*out*/,
                        diopiConstTensorHandle_t /*condition*/, diopiConstTensorHandle_t /*input*/,
                        diopiConstTensorHandle_t /*other*/) {
    return diopiNoImplement;
}

}  // namespace impl::camb
