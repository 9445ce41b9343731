// Gradients of Linear: the leading dimensions of the input count as rows.
#include "batches.h"
#include "diopi_core/arguments.h"
#include "linalg_matmul.h"
#include "linalg_matmul_kernels.h"

using namespace diopigen::core;

void diopigen::entry::linear_backward(const LinearBackwardArgs& args) {
    require_rank(args.input, 1);
    std::vector<int64_t> shape = shape_of(args.input);
    shape.back() = args.weight.shape[0];
    require_shape(args.grad_output, shape);
    require_apart(args.grad_input, {&args.grad_output, &args.input, &args.weight, &args.grad_weight, &args.grad_bias});
    require_apart(args.grad_weight, {&args.grad_output, &args.input, &args.weight, &args.grad_bias});
    require_apart(args.grad_bias, {&args.grad_output, &args.input, &args.weight});
    const AsMatrix gradient(args.grad_output);
    const View transposed = permuted(gradient.tensor(), {0, 2, 1});
    if (!args.grad_input.is_null()) {
        const Conjugated factors(args.weight);
        const View right = as_batch(factors.tensor());
        const AsMatrix result(args.grad_input, false);
        multiply_tensors(result.tensor(), gradient.tensor(), right.tensor());
        result.store();
    }
    if (!args.grad_weight.is_null()) {
        const Conjugated data(args.input);
        const AsMatrix right(data.tensor());
        const View result = as_batch(args.grad_weight);
        multiply_tensors(result.tensor(), transposed.tensor(), right.tensor());
    }
    if (args.grad_bias.rank > 1) {  // of a summand for each element
        copy_elements(args.grad_bias, args.grad_output);
    } else if (!args.grad_bias.is_null()) {
        sum_rows(args.grad_bias, args.grad_output);
    }
}
