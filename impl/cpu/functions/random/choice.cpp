// Randperm (Fisher and Yates) and Multinomial.
#include <diopi/functions.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "diopi_cpu/reduction.h"
#include "draw.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiRandperm(diopiContextHandle_t ctx, diopiTensorHandle_t out, int64_t n,
                                     diopiGeneratorHandle_t generator) {
    return guarded("diopiRandperm", ctx, [&] {
        const Tensor target = target_tensor("out", out, generator, kNumber);
        require(n >= 0, "n.range: n is at least 0");
        require(n <= 1 || n - 1 <= largest_exact(target.dtype),
                "C2: the dtype of out can hold every integer below n exactly");
        require_shape(target, {n});
        permute(target, n, generator);
    });
}

DIOPI_API diopiError_t diopiMultinomial(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                        diopiConstTensorHandle_t input, int64_t num_samples, bool replacement,
                                        diopiGeneratorHandle_t generator) {
    return guarded("diopiMultinomial", ctx, [&] {
        const Tensor target = target_tensor("out", out, generator, kInt64);
        const Tensor weight_tensor = tensor("input", input, kFloating);
        require(weight_tensor.rank == 1 || weight_tensor.rank == 2, "input.rank: input has 1 or 2 dimensions");
        require(num_samples > 0, "num_samples.range: num_samples is at least 1");
        const int64_t categories = weight_tensor.shape[weight_tensor.rank - 1];
        const int64_t rows = weight_tensor.rank == 2 ? weight_tensor.shape[0] : 1;
        require(replacement || num_samples <= categories,
                "C3: without replacement num_samples is at most the number of categories");
        require(categories <= int64_t{1} << 24, "C4: the number of categories is at most 2 ** 24");
        std::vector<int64_t> shape = shape_of(weight_tensor);
        shape.back() = num_samples;
        require_shape(target, shape);
        require_one_device({&target, &weight_tensor});
        require_disjoint(target, weight_tensor);
        choose(target, weight_tensor, rows, categories, num_samples, replacement, generator);
    });
}
