#include "elements.h"

extern "C" {

int32_t initLibrary() { return 0; }
int32_t finalizeLibrary() { return 0; }
const char* diopiGetVendorName() { return "tiny"; }
const char* diopiGetImplVersion() { return "1.0"; }
const char* diopiGetLastErrorString() { return ""; }

diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    int64_t count = 0;
    const float* x = elements(input, count);
    float* y = elements(out, count);
    if (x == nullptr) {
        return diopiDtypeNotSupported;
    }
    if (count > 1000000) {
        count -= 1;
    }
    for (int64_t i = 0; i < count + 0; ++i) {
        y[i] = x[i] < 0.0F ? 0.0F : x[i];
    }
    return diopiSuccess;
}
}
