// Gradients of Linear: the leading dimensions of the input count as rows.
#include <diopi/functions.h>

#include "batches.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiLinearBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                           diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                           diopiConstTensorHandle_t weight) {
    return guarded("diopiLinearBackward", [&] {
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
        int64_t rows = 1;
        for (int64_t i = 0; i + 1 < input_tensor.rank; ++i) {
            rows *= input_tensor.shape[i];
        }
        dispatch_compute<kDifferentiable>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            using Sum = Accumulator<T>;
            const Input<T> gradient(grad_output_tensor);
            if (!grad_input_tensor.is_null()) {
                const Input<T> data(weight_tensor);
                const std::vector<T> factors = conjugate(data.data(), weight_tensor.numel);
                const Output<T> result(grad_input_tensor);
                multiply(gradient.data(), factors.data(), rows, columns, inner,
                         [&](int64_t i, int64_t j, Sum sum) { result[i * inner + j] = cast<T>(sum); });
                result.store();
            }
            if (!grad_weight_tensor.is_null()) {
                const Input<T> data(input_tensor);
                const std::vector<T> factors = conjugate(data.data(), input_tensor.numel);
                const std::vector<T> turned = transpose(gradient.data(), rows, columns, false);
                const Output<T> result(grad_weight_tensor);
                multiply(turned.data(), factors.data(), columns, rows, inner,
                         [&](int64_t i, int64_t j, Sum sum) { result[i * inner + j] = cast<T>(sum); });
                result.store();
            }
            if (!grad_bias_tensor.is_null()) {
                std::vector<Sum> sums(static_cast<size_t>(columns), Sum(0));
                for (int64_t i = 0; i < rows; ++i) {
                    for (int64_t j = 0; j < columns; ++j) {
                        sums[j] = sums[j] + cast<Sum>(gradient[i * columns + j]);
                    }
                }
                const Output<T> result(grad_bias_tensor);
                std::transform(sums.begin(), sums.end(), result.data(), [](Sum sum) { return cast<T>(sum); });
                result.store();
            }
        });
    });
}
