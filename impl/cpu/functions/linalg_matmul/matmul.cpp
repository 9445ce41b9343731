// Products of matrices: Mm, Bmm, Baddbmm, Addmm and Linear.
#include <diopi/functions.h>

#include "batches.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kFactors = kNumber | kComplex;

void check(const Tensor& out, std::initializer_list<const Tensor*> operands) {
    require_no_overlap(out);
    for (const Tensor* operand : operands) {
        require_same_dtype(*operand, out);
        require_one_device({&out, operand});
        require_disjoint(out, *operand);
    }
}

// out = beta * input + alpha * batch1 batch2. `input` broadcasts to `out` or is `out`.
void add_batch(const Tensor& out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t batch1,
               diopiConstTensorHandle_t batch2, double beta, double alpha) {
    const Tensor input_tensor = tensor("input", input, kFactors);
    const Tensor batch1_tensor = tensor("batch1", batch1, kFactors);
    const Tensor batch2_tensor = tensor("batch2", batch2, kFactors);
    require_rank(batch1_tensor, 3, 3);
    require_rank(batch2_tensor, 3, 3);
    const int64_t count = batch1_tensor.shape[0];
    const int64_t rows = batch1_tensor.shape[1];
    const int64_t inner = batch1_tensor.shape[2];
    const int64_t columns = batch2_tensor.shape[2];
    require_shape(batch2_tensor, {count, inner, columns});
    require_shape(out, {count, rows, columns});
    require_broadcastable(input_tensor, out);
    require_same_dtype(out, batch1_tensor);
    require_same_dtype(input_tensor, batch1_tensor);
    check(out, {&batch1_tensor, &batch2_tensor});
    require_one_device({&out, &input_tensor});
    require_no_overlap(out, input_tensor);
    require(!is_integral(out.dtype) || (Number::of(beta).is_whole() && Number::of(alpha).is_whole()),
            "parameters 'beta' and 'alpha' have a fractional part, but the matrices are integral");
    multiply_tensors(out, batch1_tensor, batch2_tensor, Number::of(alpha), Number::of(beta), input_tensor);
}

}  // namespace

DIOPI_API diopiError_t diopiMm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t mat2) {
    return guarded("diopiMm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFactors);
        const Tensor input_tensor = tensor("input", input, kFactors);
        const Tensor mat2_tensor = tensor("mat2", mat2, kFactors);
        require_rank(input_tensor, 2, 2);
        require_rank(mat2_tensor, 2, 2);
        require_shape(mat2_tensor, {input_tensor.shape[1], mat2_tensor.shape[1]});
        require_shape(out_tensor, {input_tensor.shape[0], mat2_tensor.shape[1]});
        check(out_tensor, {&input_tensor, &mat2_tensor});
        const View result = as_batch(out_tensor);
        const View left = as_batch(input_tensor);
        const View right = as_batch(mat2_tensor);
        multiply_tensors(result.tensor(), left.tensor(), right.tensor());
    });
}

DIOPI_API diopiError_t diopiBmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t mat2) {
    return guarded("diopiBmm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFactors);
        const Tensor input_tensor = tensor("input", input, kFactors);
        const Tensor mat2_tensor = tensor("mat2", mat2, kFactors);
        require_rank(input_tensor, 3, 3);
        require_rank(mat2_tensor, 3, 3);
        require_shape(mat2_tensor, {input_tensor.shape[0], input_tensor.shape[2], mat2_tensor.shape[2]});
        require_shape(out_tensor, {input_tensor.shape[0], input_tensor.shape[1], mat2_tensor.shape[2]});
        check(out_tensor, {&input_tensor, &mat2_tensor});
        multiply_tensors(out_tensor, input_tensor, mat2_tensor);
    });
}

DIOPI_API diopiError_t diopiBaddbmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t batch1, diopiConstTensorHandle_t batch2, double beta,
                                    double alpha) {
    return guarded("diopiBaddbmm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFactors);
        add_batch(out_tensor, input, batch1, batch2, beta, alpha);
    });
}

DIOPI_API diopiError_t diopiBaddbmmInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                                       diopiConstTensorHandle_t batch1, diopiConstTensorHandle_t batch2, double beta,
                                       double alpha) {
    return guarded("diopiBaddbmmInp", ctx, [&] {
        const Tensor input_tensor = tensor("input", input, kFactors);
        add_batch(input_tensor, input, batch1, batch2, beta, alpha);
    });
}

DIOPI_API diopiError_t diopiAddmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t mat1, diopiConstTensorHandle_t mat2,
                                  const diopiScalar_t* beta, const diopiScalar_t* alpha) {
    return guarded("diopiAddmm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFactors);
        const Tensor input_tensor = tensor("input", input, kFactors);
        const Tensor mat1_tensor = tensor("mat1", mat1, kFactors);
        const Tensor mat2_tensor = tensor("mat2", mat2, kFactors);
        const Number beta_number = scalar("beta", beta, kNumber);
        const Number alpha_number = scalar("alpha", alpha, kNumber);
        require_rank(mat1_tensor, 2, 2);
        require_rank(mat2_tensor, 2, 2);
        const int64_t rows = mat1_tensor.shape[0];
        const int64_t inner = mat1_tensor.shape[1];
        const int64_t columns = mat2_tensor.shape[1];
        require_shape(mat2_tensor, {inner, columns});
        require_shape(out_tensor, {rows, columns});
        require_broadcastable(input_tensor, out_tensor);
        require_same_dtype(out_tensor, mat1_tensor);
        check(out_tensor, {&mat1_tensor, &mat2_tensor});
        require_same_dtype(input_tensor, out_tensor);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor, input_tensor);
        require(!is_integral(mat1_tensor.dtype) || (beta_number.is_whole() && alpha_number.is_whole()),
                "C1: beta and alpha have no fractional part when mat1 is integral");
        const View result = as_batch(out_tensor);
        const View left = as_batch(mat1_tensor);
        const View right = as_batch(mat2_tensor);
        multiply_tensors(result.tensor(), left.tensor(), right.tensor(), alpha_number, beta_number, input_tensor);
    });
}

DIOPI_API diopiError_t diopiLinear(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    return guarded("diopiLinear", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFactors);
        const Tensor input_tensor = tensor("input", input, kFactors);
        const Tensor weight_tensor = tensor("weight", weight, kFactors);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFactors);
        require_rank(input_tensor, 1);
        require_rank(weight_tensor, 1, 2);
        const int64_t inner = input_tensor.shape[input_tensor.rank - 1];
        std::vector<int64_t> shape = shape_of(input_tensor);
        shape.pop_back();
        // A vector is one output feature, for which the result has no dimension.
        const bool is_vector = weight_tensor.rank == 1;
        const View weights = is_vector ? View(weight_tensor, {1, inner}, {0, weight_tensor.strides[0]})
                                       : View(weight_tensor, shape_of(weight_tensor),
                                              {weight_tensor.strides[0], weight_tensor.strides[1]});
        const int64_t columns = weights.tensor().shape[0];
        if (!is_vector) {
            shape.push_back(columns);
            require_shape(weight_tensor, {columns, inner});
        }
        require_shape(out_tensor, shape);
        if (bias_tensor.numel != 1) {
            require_shape(bias_tensor, {columns});
        }
        check(out_tensor, {&input_tensor, &weight_tensor, &bias_tensor});
        std::vector<int64_t> strides(out_tensor.strides, out_tensor.strides + out_tensor.rank);
        if (is_vector) {
            shape.push_back(1);
            strides.resize(shape.size(), 0);
        }
        const View results(out_tensor, shape, strides);
        const AsMatrix result(results.tensor(), false);
        const AsMatrix left(input_tensor);
        const View right = as_batch(weights.tensor());
        const View turned = permuted(right.tensor(), {0, 2, 1});
        multiply_tensors(result.tensor(), left.tensor(), turned.tensor(), Number::of(1), Number::of(1), bias_tensor);
        result.store();
    });
}
