// What normalisations do to elements. Statistics are accumulated in double; null outputs are dropped.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_NORM_NORM_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_NORM_NORM_KERNELS_H_

#include "group_norm.h"
#include "trailing.h"

namespace diopigen::core {

// ---- LayerNorm: rows of the trailing dimensions. Null weights are 1, null biases 0. ----

void normalise_rows(const Tensor& out, const Tensor& mean, const Tensor& invstd, const Tensor& input,
                    const Tensor& weight, const Tensor& bias, const Trailing& parts, double eps);
void row_gradients(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                   const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Tensor& mean,
                   const Tensor& invstd, const Trailing& parts);

// ---- RMSNorm: the same without a mean. ----

void normalise_rows_by_rms(const Tensor& out_tensor, const Tensor& inverse_tensor, const Tensor& input_tensor,
                           const Tensor& weight_tensor, const Tensor& bias_tensor, const Trailing& parts, double eps);
void rms_row_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                       const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                       const Tensor& inverse_tensor, const Trailing& parts);

// ---- GroupNorm. ----

void normalise_groups(const Tensor& out_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                      const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& bias_tensor,
                      const Groups& groups, double eps);
void group_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                     const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                     const Tensor& mean_tensor, const Tensor& rstd_tensor, const Groups& groups);

// ---- InstanceNorm: each channel of each sample by itself. ----

void normalise_channels_of_samples(const Tensor& to_tensor, const Tensor& from_tensor, const Tensor& scale_tensor,
                                   const Tensor& bias_tensor, const Channels& channels, double eps);
void channel_of_sample_gradients(const Tensor& gradient_tensor, const Tensor& grad_scale_tensor,
                                 const Tensor& grad_bias_tensor, const Tensor& grad_out_tensor,
                                 const Tensor& input_tensor, const Tensor& scale_tensor, const Channels& channels,
                                 double eps);

// ---- Normalize: rows are along the last dimension of all views. ----

void normalise_by_norm(const Tensor& to_tensor, const Tensor& from_tensor, int64_t length, double p, double eps);
void gradients_through_norm(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                            int64_t length, double p, double eps);

// ---- BatchNorm: channels over all samples. ----

void normalise_channels(const Tensor& out_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                        const Tensor& input_tensor, const Tensor& weight_tensor, const Tensor& bias_tensor,
                        const Tensor& running_mean_tensor, const Tensor& running_var_tensor, const Channels& channels,
                        bool training, double momentum, double eps);
void channel_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                       const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                       const Tensor& used_mean, const Tensor& used_deviation, const Channels& channels, bool training,
                       double eps);

// ---- Its pieces for several devices. ----

void channel_statistics(const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& input_tensor,
                        const Channels& channels, double eps);
void join_statistics(const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& mean_all_tensor,
                     const Tensor& invstd_all_tensor, const Tensor& running_mean_tensor,
                     const Tensor& running_var_tensor, const Tensor& counts_tensor, const Channels& channels,
                     float momentum, float eps);
void scale_channels(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                    const Tensor& bias_tensor, const Tensor& mean_tensor, const Tensor& invstd_tensor,
                    const Channels& channels);
void channel_sums(const Tensor& sum_tensor, const Tensor& product_tensor, const Tensor& scale_tensor,
                  const Tensor& shift_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                  const Tensor& mean_tensor, const Tensor& invstd_tensor, const Channels& channels, bool input_g,
                  bool weight_g, bool bias_g);
void gradients_from_sums(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                         const Tensor& mean_tensor, const Tensor& invstd_tensor, const Tensor& weight_tensor,
                         const Tensor& sum_tensor, const Tensor& product_tensor, const Tensor& count_tensor,
                         const Channels& channels);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_NORM_NORM_KERNELS_H_
