// Attention by cuDNN's fused kernels, where they serve the call (fused.cu).
#ifndef DIOPI_CUDA_ATTENTION_FUSED_H_
#define DIOPI_CUDA_ATTENTION_FUSED_H_

#include "attention/flash_attention.h"
#include "diopi_cuda/fused_attention.h"

namespace diopigen::cuda {

// Both do what attend and attend_backward do for contiguous statistics [batch, heads, longest]. False where nothing
// was written that counts: own kernels do it then.
bool attend_fused(const core::attention::Problem& problem, const core::attention::Scoring& scoring,
                  const core::attention::Operands& operands, void* out, float* lse, int64_t longest);
bool attend_fused_backward(const core::attention::Problem& problem, const core::attention::Scoring& scoring,
                           const core::attention::Operands& operands, const core::attention::GradientTensors& tensors,
                           const float* lse, int64_t longest);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_FUSED_H_
