#include "elements.h"

constexpr int64_t kNone = 0;

extern "C" diopiError_t diopiAdd(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    int64_t count = 0, counts = 0;
    const float* x = elements(input, count);
    const float* y = elements(other, counts);
    float* z = elements(out, counts);
    if (x == nullptr || y == nullptr || z == nullptr) {
        return diopiDtypeNotSupported;
    }
    const double factor = alpha->stype == diopi_dtype_int64 ? static_cast<double>(alpha->ival) : alpha->fval;
    for (int64_t i = kNone; i < count; ++i) {
        z[i] = static_cast<float>(x[i] + factor * y[i]);
    }
    return diopiSuccess;
}
