// What losses do to elements. Sums are accumulated in double.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_LOSS_LOSS_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_LOSS_LOSS_KERNELS_H_

#include "cross_entropy.h"
#include "focus.h"

namespace diopigen::core {

constexpr const char* kNllIndexRule =
    "C2: every class index is ignore_index, or at least 0 and below the number of classes";
constexpr const char* kCrossEntropyIndexRule =
    "C5: every class index is ignore_index, or at least 0 and below the number of classes";
constexpr const char* kProbabilityRule = "C1: every element of input is between 0 and 1";

// ---- Element by element. Null weights are 1; `positive_tensor` weighs positive labels. ----

void mse_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                diopiReduction_t reduction);
void mse_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                   const Tensor& target_tensor, diopiReduction_t reduction);
void smooth_l1_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                      diopiReduction_t reduction, double beta);
void smooth_l1_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                         const Tensor& target_tensor, diopiReduction_t reduction, double beta);
// Refuses probabilities that are none.
void bce_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                const Tensor& weight_tensor, diopiReduction_t reduction);
void bce_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                   const Tensor& target_tensor, const Tensor& weight_tensor, diopiReduction_t reduction);
void logit_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                  const Tensor& weight_tensor, const Tensor& positive_tensor, diopiReduction_t reduction);
void logit_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                     const Tensor& target_tensor, const Tensor& weight_tensor, const Tensor& positive_tensor,
                     diopiReduction_t reduction);
void focal_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                  diopiReduction_t reduction, const Focus& focus);
void focal_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                     const Tensor& target_tensor, diopiReduction_t reduction, const Focus& focus);

// ---- Over classes. Indices out of range are rejected with the message. ----

void nll_losses(const Tensor& out, const Tensor& total_weight, const Tensor& input, const Tensor& target,
                const Tensor& weight, const Classes& sizes, diopiReduction_t reduction, int64_t ignored);
void nll_gradients(const Tensor& grad_input, const Tensor& grad_output, const Tensor& input, const Tensor& target,
                   const Tensor& weight, const Tensor& total_weight, const Classes& sizes, diopiReduction_t reduction,
                   int64_t ignored);
void cross_entropy_losses(const Tensor& out_tensor, const CrossEntropyProblem& problem);
void cross_entropy_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor,
                             const CrossEntropyProblem& problem);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_LOSS_LOSS_KERNELS_H_
