// ClipGradNorm: the joint norm of all gradients in double, then one factor on all of them.
#include <diopi/functions.h>

#include <cmath>

#include "diopi_cpu/chunks.h"
#include "diopi_cpu/lists.h"
#include "diopi_cpu/vector_norm.h"
#include "diopi_cpu/words.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiClipGradNorm(diopiContextHandle_t ctx, double* out, diopiTensorHandle_t* grads,
                                         int64_t num_grads, double max_norm, double norm_type,
                                         bool error_if_nonfinite) {
    return guarded("diopiClipGradNorm", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        const std::vector<Tensor> gradients = tensor_list("grads", grads, "num_grads", num_grads, kFloating);
        require_apart(gradients);
        const double norm = joint_norm(gradients, norm_type);
        require(!error_if_nonfinite || std::isfinite(norm),
                "C1: the joint norm is finite when error_if_nonfinite is true");
        const double factor = max_norm / (norm + 1e-6);
        // Not (factor < 1), so that NaN enters the gradients.
        if (!(factor >= 1)) {
            scale_all(gradients, factor);
        }
        *out = norm;
    });
}
