// ClipGradNorm: the joint norm of all gradients in double, then one factor on all of them.
#include <cmath>

#include "optimizer.h"
#include "optimizer_kernels.h"

using namespace diopigen::core;

void diopigen::entry::clip_grad_norm(const ClipGradNormArgs& args) {
    const double norm = joint_norm(args.grads, args.norm_type);
    require(!args.error_if_nonfinite || std::isfinite(norm),
            "C1: the joint norm is finite when error_if_nonfinite is true");
    const double factor = args.max_norm / (norm + 1e-6);
    // Not (factor < 1), so that NaN enters the gradients.
    if (!(factor >= 1)) {
        scale_all(args.grads, factor);
    }
    *args.out = norm;
}
