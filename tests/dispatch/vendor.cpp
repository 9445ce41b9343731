// A vendor's library for the tests of the dispatch library: a device made of host memory and a handful of operators,
// each with a manner of its own.
#include <diopi/functions.h>
#include <diopigen/device.h>
#include <diopigen/host_device.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace {

const char* lastError = "";

// Float32 tensors without gaps.
diopiError_t map(diopiTensorHandle_t out, diopiConstTensorHandle_t input, float (*function)(float)) {
    diopiDtype_t dtype;
    int64_t count = 0;
    void* to = nullptr;
    const void* from = nullptr;
    diopiGetTensorDtype(input, &dtype);
    diopiGetTensorNumel(input, &count);
    diopiGetTensorData(out, &to);
    diopiGetTensorDataConst(input, &from);
    if (dtype != diopi_dtype_float32) {
        return diopiNoImplement;
    }
    for (int64_t i = 0; i < count; ++i) {
        static_cast<float*>(to)[i] = function(static_cast<const float*>(from)[i]);
    }
    return diopiSuccess;
}

}  // namespace

extern "C" {

int32_t initLibrary(void) { return diopigenRegisterHostDevice(); }
int32_t finalizeLibrary(void) { return 0; }
const char* diopiGetVendorName() { return "test"; }
const char* diopiGetImplVersion() { return "1"; }
const char* diopiGetLastErrorString() { return lastError; }

// Right for float32, left to others for the rest, with a text.
diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const diopiError_t status = map(out, input, [](float x) { return -x; });
    lastError = status == diopiNoImplement ? "diopiNeg: the \"unit\" takes float32" : lastError;
    return status;
}
// One part in a thousand too large.
diopiError_t diopiExp(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, [](float x) { return std::exp(x) * 1.001F; });
}
// Leaves every call to others, and no text.
diopiError_t diopiSqrt(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiForceFallbackToCPU;
}
diopiError_t diopiFloor(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    lastError = "the rounding unit is on holiday";
    return diopiErrorOccurred;
}
diopiError_t diopiCeil(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    throw std::runtime_error("no more registers");
}
// Always finds a difference.
diopiError_t diopiEqual(diopiContextHandle_t, bool* out, diopiConstTensorHandle_t, diopiConstTensorHandle_t) {
    *out = false;
    return diopiSuccess;
}
// Says that nothing is not zero.
diopiError_t diopiNonzero(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t) {
    const int64_t shape[] = {0, 1};
    const diopiSize_t size = {shape, 2};
    return diopiRequireTensor(ctx, out, &size, nullptr, diopi_dtype_int64, diopi_device);
}

}  // extern "C"
