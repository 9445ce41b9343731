// A vendor's library whose kernels do nothing, over host memory: what is left is the cost of the glue.
#include <diopi/functions.h>
#include <diopigen/device.h>
#include <diopigen/host_device.h>

extern "C" {

int32_t initLibrary() { return diopigenRegisterHostDevice(); }
int32_t finalizeLibrary() { return 0; }

diopiError_t diopiAdd(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                      const diopiScalar_t*) {
    return diopiSuccess;
}

diopiError_t diopiFill(diopiContextHandle_t, diopiTensorHandle_t, const diopiScalar_t*) { return diopiSuccess; }

}  // extern "C"
