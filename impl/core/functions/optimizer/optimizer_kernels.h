// What optimizers do to elements, in addition to the kernels of the spec.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_OPTIMIZER_OPTIMIZER_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_OPTIMIZER_OPTIMIZER_KERNELS_H_

#include <vector>

#include "diopi_core/tensor.h"

namespace diopigen::core {

// ---- Mixed precision: tensors of one element say what is found and by what to multiply. ----

void update_scale(const Tensor& scale_tensor, const Tensor& tracker_tensor, const Tensor& found_tensor,
                  double scale_growth_factor, double scale_backoff_factor, int32_t growth_interval);

// ---- ClipGradNorm. ----

// The norm of all elements of all tensors; the call waits for it.
double joint_norm(const std::vector<Tensor>& tensors, double order);
void scale_all(const std::vector<Tensor>& gradients, double factor);

// ---- FusedAdamW. ----

// A parameter with its state; `step` holds one number. `largest` is null where there is no AMSGrad.
struct AdamWStep {
    Tensor weight;
    Tensor gradient;
    Tensor mean;
    Tensor square;
    Tensor largest;
    Tensor step;
};

struct AdamWSettings {
    double lr;
    double beta1;
    double beta2;
    double eps;
    double weight_decay;
    bool amsgrad;
    bool maximize;
};

// One after the other, where they share memory.
void take_steps(const std::vector<AdamWStep>& steps, const AdamWSettings& settings);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_OPTIMIZER_OPTIMIZER_KERNELS_H_
