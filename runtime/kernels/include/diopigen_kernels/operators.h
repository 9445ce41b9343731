// First versions of operators, for a chip whose own kernels are not written yet: plain loops over tensors of any
// strides. Each takes the parameters of the function of the interface behind how the chip launches a kernel, and gives
// `unsupported` for what it leaves to a fallback, before anything has happened. `diopigen scaffold` starts an operator
// that is declared here with a call of it; the kernel of the chip's own unit takes its place later.
#ifndef DIOPIGEN_KERNELS_OPERATORS_H_
#define DIOPIGEN_KERNELS_OPERATORS_H_

#include <diopi/diopirt.h>
#include <diopigen_kernels/call.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace diopigen::kernels::operators {

/// How a chip runs a kernel on a stream (docs/kernels.md).
using Launch = std::function<Status(diopiStreamHandle_t stream, const char* name, std::vector<Buffer> buffers,
                                    KernelFunction kernel)>;

// Products of matrices, of one floating dtype.
Status mm(const Launch& launch, Context ctx, Out out, In input, In mat2);
Status bmm(const Launch& launch, Context ctx, Out out, In input, In mat2);
Status matmul(const Launch& launch, Context ctx, Out out, In input, In other);
Status addmm(const Launch& launch, Context ctx, Out out, In input, In mat1, In mat2, const diopiScalar_t* beta,
             const diopiScalar_t* alpha);
Status linear(const Launch& launch, Context ctx, Out out, In input, In weight, In bias);
Status linearBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                      In input, In weight);

// Convolution of images [N, C, H, W], whatever order they have in memory.
Status convolution2d(const Launch& launch, Context ctx, Out out, In input, In weight, In bias, diopiSize_t stride,
                     diopiSize_t padding, diopiSize_t dilation, int64_t groups);
Status convolution2dBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias,
                             In grad_output, In input, In weight, diopiSize_t* bias_sizes, diopiSize_t stride,
                             diopiSize_t padding, diopiSize_t dilation, int64_t groups);

// Pooling of the last two dimensions.
Status maxPool2d(const Launch& launch, Context ctx, Out out, In input, diopiSize_t kernel_size, diopiSize_t stride,
                 diopiSize_t padding, diopiSize_t dilation, bool ceil_mode);
Status maxPool2dWithIndices(const Launch& launch, Context ctx, Out out, Out indices, In input, diopiSize_t kernel_size,
                            diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool ceil_mode);
Status maxPool2dBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In input,
                         diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                         bool ceil_mode, In indices);
Status adaptiveAvgPool2d(const Launch& launch, Context ctx, Out out, In input, diopiSize_t output_size);
Status adaptiveAvgPool2dBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In input);

// Norms, of one floating dtype. The gradient of batch norm is that of training.
Status batchNorm(const Launch& launch, Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight,
                 In bias, Out running_mean, Out running_var, bool training, double momentum, double eps);
Status batchNormBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias,
                         In grad_output, In input, In weight, In running_mean, In running_var, In save_mean,
                         In save_invstd, bool training, double eps);
Status layerNorm(const Launch& launch, Context ctx, Out out, Out save_mean, Out save_invstd, In input, In weight,
                 In bias, diopiSize_t normalized_shape, double eps);
Status layerNormBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias,
                         In grad_output, In input, In weight, In bias, In mean, In rstd, diopiSize_t normalized_shape);
Status rmsNorm(const Launch& launch, Context ctx, Out out, Out inv_rms, In input, diopiSize_t normalized_shape,
               In weight, In bias, double eps);
Status rmsNormBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias,
                       In grad_output, In input, In weight, In bias, In inv_rms, diopiSize_t normalized_shape,
                       double eps);

// Sums, and softmax along a dimension, of one floating dtype.
Status sum(const Launch& launch, Context ctx, Out out, In input, diopiSize_t dim);
Status mean(const Launch& launch, Context ctx, Out out, In input, diopiSize_t dim);
Status softmax(const Launch& launch, Context ctx, Out out, In input, int64_t dim);
Status softmaxBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In output, int64_t dim);
Status logSoftmax(const Launch& launch, Context ctx, Out out, In input, int64_t dim);
Status logSoftmaxBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In output, int64_t dim);

// What shims convert with. What becomes of numbers that do not fit into integers is left.
Status castDtype(const Launch& launch, Context ctx, Out out, In input);
Status copyInp(const Launch& launch, Context ctx, In src, Out dest);

// What moves elements, or names them by their positions. Positions on the device are known when the kernel runs: one
// outside its dimension makes the kernel fail.
Status permute(const Launch& launch, Context ctx, Out out, In input, diopiSize_t dims);
Status cat(const Launch& launch, Context ctx, Out out, In* tensors, int64_t num_inputs, int64_t dim);
Status arange(const Launch& launch, Context ctx, Out out, const diopiScalar_t* start, const diopiScalar_t* end,
              const diopiScalar_t* step);
Status indexSelect(const Launch& launch, Context ctx, Out out, In input, int64_t dim, In index);
Status embedding(const Launch& launch, Context ctx, Out out, In weight, In indices, int64_t padding_idx,
                 bool scale_grad_byfreq, bool sparse);
Status argmax(const Launch& launch, Context ctx, Out out, In input, const int64_t* dim, bool keepdim);
Status topk(const Launch& launch, Context ctx, Out values, Out indices, In input, int64_t k, int64_t dim, bool largest,
            bool sorted);

// Losses and attention.
Status crossEntropyLoss(const Launch& launch, Context ctx, Out out, In input, In target, In weight,
                        diopiReduction_t reduction, int64_t ignore_index, double label_smoothing);
Status crossEntropyLossBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In input, In target,
                                In weight, diopiReduction_t reduction, int64_t ignore_index, double label_smoothing);
Status flashAttention(const Launch& launch, Context ctx, Out attention_out, Out softmax_lse, diopiGeneratorHandle_t gen,
                      In q, In k, In v, In alibi_slopes, float p_dropout, float softmax_scale, bool is_causal,
                      int32_t window_size_left, int32_t window_size_right);

// Servers of language models: layers, caches of keys and values in blocks, attention over these.
Status residualRMSNorm(const Launch& launch, Context ctx, Out out, Out residual, In input, In weight, double eps,
                       double weight_offset);
Status residualRMSNormInp(const Launch& launch, Context ctx, Out residual, Out input, In weight, double eps,
                          double weight_offset);
Status rotaryEmbeddingByPositionInp(const Launch& launch, Context ctx, Out query, Out key, In positions, In cos_sin,
                                    int64_t head_size, bool is_interleaved);
Status siluAndMul(const Launch& launch, Context ctx, Out out, In input);
Status geluAndMul(const Launch& launch, Context ctx, Out out, In input, const char* approximate);
Status computeSlotMapping(const Launch& launch, Context ctx, Out slot_mapping, In query_start_loc, In positions,
                          In block_table, int64_t block_size);
Status reshapeAndCache(const Launch& launch, Context ctx, Out key_cache, Out value_cache, In key, In value,
                       In slot_mapping);
Status copyBlocksInp(const Launch& launch, Context ctx, Out cache, In source_blocks, In destination_blocks);
Status swapBlocks(const Launch& launch, Context ctx, Out destination, In source, In source_blocks,
                  In destination_blocks);
Status pagedAttentionVarLen(const Launch& launch, Context ctx, Out out, Out softmax_lse, In query, In key_cache,
                            In value_cache, In block_table, In query_start_loc, In seq_lens, In alibi_slopes, In sinks,
                            double softmax_scale, bool is_causal, int64_t window_size_left, int64_t window_size_right,
                            double softcap, In key_scale, In value_scale);
Status mergeAttentionStates(const Launch& launch, Context ctx, Out out, Out out_lse, In prefix_output, In prefix_lse,
                            In suffix_output, In suffix_lse);
Status topkGating(const Launch& launch, Context ctx, Out weights, Out experts, In gating, In bias, int64_t top_k,
                  const char* scoring, bool renormalize, int64_t num_groups, int64_t top_groups, double scaling);
Status fusedExperts(const Launch& launch, Context ctx, Out out, In input, In gate_up_weight, In down_weight, In weights,
                    In experts, In gate_up_bias, In down_bias, In expert_map, const char* activation, In gate_up_scale,
                    In down_scale, int64_t block);
Status packedExperts(const Launch& launch, Context ctx, Out out, In input, In gate_up_weight, In down_weight,
                     In gate_up_scale, In down_scale, In weights, In experts, In gate_up_zero, In down_zero,
                     In gate_up_bias, In down_bias, In expert_map, const char* activation, int64_t bits);
Status groupedGemm(const Launch& launch, Context ctx, Out out, In input, In weight, In bias, In group_ends);
Status maskLogitsInp(const Launch& launch, Context ctx, Out logits, In top_k, In top_p, In min_p);
Status penalizeLogitsInp(const Launch& launch, Context ctx, Out logits, In prompt_tokens, In output_tokens, In presence,
                         In frequency, In repetition);
Status sampleTokens(const Launch& launch, Context ctx, Out tokens, In logits, In uniforms);
Status packedLinear(const Launch& launch, Context ctx, Out out, In input, In weight, In scale, In zero_point, In bias,
                    int64_t bits);
Status quantizeByToken(const Launch& launch, Context ctx, Out out, Out scale, In input);
Status scaledInt8Linear(const Launch& launch, Context ctx, Out out, In input, In weight, In input_scale,
                        In weight_scale, In bias);
Status gptqLinear(const Launch& launch, Context ctx, Out out, In input, In weight, In scale, In zero_point,
                  In group_index, In bias, int64_t bits, int64_t zero_offset);
Status awqLinear(const Launch& launch, Context ctx, Out out, In input, In weight, In scale, In zero_point, In bias);
Status quantizeFloat8ByToken(const Launch& launch, Context ctx, Out out, Out scale, In input, int64_t group_size);
Status quantizeFloat8(const Launch& launch, Context ctx, Out out, In input, In scale);
Status scaledFloat8Linear(const Launch& launch, Context ctx, Out out, In input, In weight, In input_scale,
                          In weight_scale, In bias, int64_t block);
Status shardedEmbedding(const Launch& launch, Context ctx, Out out, In weight, In tokens, int64_t first_token);

}  // namespace diopigen::kernels::operators

#endif  // DIOPIGEN_KERNELS_OPERATORS_H_
