// A library whose one operator does nothing.
#include <diopi/functions.h>

DIOPI_API diopiError_t diopiAdd(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t,
                                diopiConstTensorHandle_t, const diopiScalar_t*) {
    return diopiSuccess;
}
