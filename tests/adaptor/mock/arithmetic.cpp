// A vendor with one optimizer, and the operators that its shim converts with.
#include <diopi/functions.h>

#include <cmath>

#include "values.h"

namespace impl {
namespace mini {

using ::mock::at;
using ::mock::count;
using ::mock::describe;
using ::mock::Layout;
using ::mock::load;
using ::mock::store;

#define CTX diopiContextHandle_t
#define IN diopiConstTensorHandle_t

diopiError_t diopiCastDtype(CTX, diopiTensorHandle_t out, IN input) {
    const Layout result = describe(out);
    const Layout source = describe(input);
    for (std::int64_t i = 0; i < count(result); ++i) {
        store(at(result, i), result.dtype, load(at(source, i), source.dtype));
    }
    return diopiSuccess;
}
diopiError_t diopiCopyInp(CTX ctx, IN source, diopiTensorHandle_t dest) {
    return mini::diopiCastDtype(ctx, dest, source);
}

// A kernel that takes float32 and nothing else, in dense tensors of one order.
diopiError_t diopiAdam(CTX, diopiTensorHandle_t param, IN grad, diopiTensorHandle_t exp_avg,
                       diopiTensorHandle_t exp_avg_sq, diopiTensorHandle_t max_exp_avg_sq, float lr, float beta1,
                       float beta2, float eps, float weight_decay, std::int64_t step, bool amsgrad) {
    float* data[5] = {};
    const diopiConstTensorHandle_t tensors[] = {param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq};
    for (int i = 0; i < (amsgrad ? 5 : 4); ++i) {
        const Layout layout = describe(tensors[i]);
        std::int64_t expected = 1;
        for (std::int64_t k = layout.size.len; k-- > 0;) {
            if (layout.dtype != diopi_dtype_float32 || layout.stride.data[k] != expected) {
                return diopiDtypeNotSupported;
            }
            expected *= layout.size.data[k];
        }
        data[i] = reinterpret_cast<float*>(layout.data);
    }
    const float first = 1 - static_cast<float>(std::pow(static_cast<double>(beta1), static_cast<double>(step)));
    const float second = 1 - static_cast<float>(std::pow(static_cast<double>(beta2), static_cast<double>(step)));
    for (std::int64_t i = 0; i < count(describe(param)); ++i) {
        const float gradient = data[1][i] + weight_decay * data[0][i];
        data[2][i] = beta1 * data[2][i] + (1 - beta1) * gradient;
        data[3][i] = beta2 * data[3][i] + (1 - beta2) * gradient * gradient;
        float variance = data[3][i];
        if (amsgrad) {
            data[4][i] = std::max(data[4][i], variance);
            variance = data[4][i];
        }
        data[0][i] -= lr / first * data[2][i] / (std::sqrt(variance / second) + eps);
    }
    return diopiSuccess;
}

}  // namespace mini
}  // namespace impl
