// Gradients of Linear: the leading dimensions of the input count as rows.
#include <diopi/functions.h>

#include "batches.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiLinearBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                           diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                           diopiConstTensorHandle_t weight) {
    return guarded("diopiLinearBackward", ctx, [&] {
        constexpr DtypeSet kDifferentiable = kFloating | kComplex;
        const Tensor grad_input_tensor = optional_tensor("grad_input", grad_input, kDifferentiable);
        const Tensor grad_weight_tensor = optional_tensor("grad_weight", grad_weight, kDifferentiable);
        const Tensor grad_bias_tensor = optional_tensor("grad_bias", grad_bias, kDifferentiable);
        const Tensor grad_output_tensor = tensor("grad_output", grad_output, kDifferentiable);
        const Tensor input_tensor = tensor("input", input, kDifferentiable);
        const Tensor weight_tensor = tensor("weight", weight, kDifferentiable);
        require_rank(input_tensor, 1);
        require_rank(weight_tensor, 2, 2);
        const int64_t columns = weight_tensor.shape[0];
        const int64_t inner = input_tensor.shape[input_tensor.rank - 1];
        std::vector<int64_t> shape = shape_of(input_tensor);
        shape.back() = columns;
        require_shape(weight_tensor, {columns, inner});
        require_shape(grad_output_tensor, shape);
        require_same_shape(grad_input_tensor, input_tensor);
        require_same_shape(grad_weight_tensor, weight_tensor);
        require_shape(grad_bias_tensor, {columns});
        for (const Tensor* same :
             {&grad_input_tensor, &grad_weight_tensor, &grad_bias_tensor, &grad_output_tensor, &weight_tensor}) {
            require_same_dtype(*same, input_tensor);
        }
        check_written(grad_input_tensor,
                      {&grad_output_tensor, &input_tensor, &weight_tensor, &grad_weight_tensor, &grad_bias_tensor});
        check_written(grad_weight_tensor, {&grad_output_tensor, &input_tensor, &weight_tensor, &grad_bias_tensor});
        check_written(grad_bias_tensor, {&grad_output_tensor, &input_tensor, &weight_tensor});
        const AsMatrix gradient(grad_output_tensor);
        const View turned = permuted(gradient.tensor(), {0, 2, 1});
        if (!grad_input_tensor.is_null()) {
            const Conjugated factors(weight_tensor);
            const View right = as_batch(factors.tensor());
            const AsMatrix result(grad_input_tensor, false);
            multiply_tensors(result.tensor(), gradient.tensor(), right.tensor());
            result.store();
        }
        if (!grad_weight_tensor.is_null()) {
            const Conjugated data(input_tensor);
            const AsMatrix right(data.tensor());
            const View result = as_batch(grad_weight_tensor);
            multiply_tensors(result.tensor(), turned.tensor(), right.tensor());
        }
        if (!grad_bias_tensor.is_null()) {
            sum_rows(grad_bias_tensor, grad_output_tensor);
        }
    });
}
