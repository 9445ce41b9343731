// A vendor whose operators do nothing, so that what is measured is the way to them; its helpers convert for real.
#include <diopi/functions.h>

namespace impl {
namespace bench {

#define NOTHING __attribute__((noinline)) diopiError_t

NOTHING diopiAdd(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                 const diopiScalar_t*) {
    return diopiSuccess;
}

NOTHING diopiCat(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t*, int64_t, int64_t) {
    return diopiSuccess;
}

NOTHING diopiAdam(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiTensorHandle_t,
                  diopiTensorHandle_t, diopiTensorHandle_t, float, float, float, float, float, int64_t, bool) {
    return diopiSuccess;
}

// int64 and int32 only, dense tensors.
diopiError_t diopiCastDtype(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const void* from = nullptr;
    void* to = nullptr;
    int64_t count = 0;
    diopiDtype_t dtype = diopi_dtype_unsupported;
    diopiGetTensorDataConst(input, &from);
    diopiGetTensorData(out, &to);
    diopiGetTensorNumel(input, &count);
    diopiGetTensorDtype(out, &dtype);
    for (int64_t i = 0; i < count; ++i) {
        if (dtype == diopi_dtype_int32) {
            static_cast<int32_t*>(to)[i] = static_cast<int32_t>(static_cast<const int64_t*>(from)[i]);
        } else {
            static_cast<int64_t*>(to)[i] = static_cast<const int32_t*>(from)[i];
        }
    }
    return diopiSuccess;
}

// int64 only, dense tensors: what keeps old values until the results are written.
diopiError_t diopiCopyInp(diopiContextHandle_t, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    const void* from = nullptr;
    void* to = nullptr;
    int64_t count = 0;
    diopiGetTensorDataConst(src, &from);
    diopiGetTensorData(dest, &to);
    diopiGetTensorNumel(src, &count);
    for (int64_t i = 0; i < count; ++i) {
        static_cast<int64_t*>(to)[i] = static_cast<const int64_t*>(from)[i];
    }
    return diopiSuccess;
}

}  // namespace bench
}  // namespace impl
