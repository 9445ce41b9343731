// How random operators sample.
// Arguments have been checked, and outputs share no memory with inputs unless it is said. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_RANDOM_RANDOM_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_RANDOM_RANDOM_KERNELS_H_

#include "diopi_core/tensor.h"

namespace diopigen::core {

// Elements are sampled in row-major order by Philox (sample.h): the same numbers in every library. The generator is
// advanced first. Ranges of operands are checked with the message `rule`.

void sample_bernoulli(const Tensor& out, const Tensor& chances, diopiGeneratorHandle_t generator, const char* rule);
void sample_bernoulli(const Tensor& target, double p, diopiGeneratorHandle_t generator);

// Range 0 stands for all 2^64 values.
void sample_integers(const Tensor& target, int64_t from, uint64_t range, diopiGeneratorHandle_t generator);
// None is above `last`, so that none is rounded to `to`.
void sample_uniform(const Tensor& target, double from, double to, double last, diopiGeneratorHandle_t generator);

// Null tensors stand for the numbers.
void sample_normal_numbers(const Tensor& target, double mean, double std, diopiGeneratorHandle_t generator);
void sample_normal_elements(const Tensor& out, const Tensor& means_tensor, const Tensor& deviations_tensor, double mean,
                            double std, diopiGeneratorHandle_t generator, const char* deviation_rule);

void drop_out(const Tensor& out, const Tensor& mask, const Tensor& input, double p, bool train,
              diopiGeneratorHandle_t generator);

void permute(const Tensor& target, int64_t n, diopiGeneratorHandle_t generator);
void choose(const Tensor& target, const Tensor& weight_tensor, int64_t rows, int64_t categories, int64_t num_samples,
            bool replacement, diopiGeneratorHandle_t generator);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_RANDOM_RANDOM_KERNELS_H_
