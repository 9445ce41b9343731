// Norm, LinalgVecNorm and the gradient of both. Powers are summed in double.
#include <diopi/functions.h>

#include <cmath>

#include "checks.h"
#include "diopi_cpu/fold.h"
#include "diopi_cpu/vector_norm.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kVectors = kFloating | kComplex;

void norms(const Tensor& out, const Tensor& input, const Number& order, const Rows& rows, const char* empty) {
    require(rows.length > 0 || !needs_elements(order.value()), empty);
    vector_norms(out, input, rows, order.value());
}

}  // namespace

DIOPI_API diopiError_t diopiNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 const diopiScalar_t* p, diopiSize_t dim) {
    return guarded("diopiNorm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kVectors);
        const Number order = optional_scalar("p", p, kNumber, Number::of(2));
        const Rows rows = rows_over(input_tensor, "dim", dim);
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        norms(out_tensor, input_tensor, order, rows,
              "parameter 'input' has empty vectors, which have no norm of negative or infinite order 'p'");
    });
}

DIOPI_API diopiError_t diopiLinalgVecNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiScalar_t* ord, diopiSize_t dim,
                                          bool keepdim) {
    return guarded("diopiLinalgVecNorm", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kVectors);
        const Number order = scalar("ord", ord, kNumber);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        check_reduction(out_tensor, input_tensor, rows, keepdim ? KeepDim::kYes : KeepDim::kNo);
        norms(out_tensor, input_tensor, order, rows,
              "parameter 'input' has empty vectors, which have no norm of negative or infinite order 'ord'");
    });
}

DIOPI_API diopiError_t diopiNormBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                         diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t self,
                                         diopiConstTensorHandle_t norm, diopiSize_t dim, const diopiScalar_t* p) {
    return guarded("diopiNormBackward", ctx, [&] {
        const Tensor grad_input_tensor = tensor("grad_input", grad_input, kVectors);
        const Tensor grad_output_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor self_tensor = tensor("self", self, kVectors);
        const Tensor norm_tensor = tensor("norm", norm, kFloating);
        const Number order_number = scalar("p", p, kNumber);
        const Rows rows = rows_over(self_tensor, "dim", dim);
        require_same_dtype(grad_input_tensor, self_tensor);
        require_same_shape(grad_input_tensor, self_tensor);
        require_no_overlap(grad_input_tensor);
        for (const Tensor* reduced : {&grad_output_tensor, &norm_tensor}) {
            require_dtype(*reduced, to_real(self_tensor.dtype));
            require_reduced(*reduced, self_tensor, rows, KeepDim::kEither);
            require_disjoint(grad_input_tensor, *reduced);
        }
        require_disjoint(grad_input_tensor, self_tensor);
        require_one_device({&grad_input_tensor, &grad_output_tensor, &self_tensor, &norm_tensor});
        const double order = order_number.value();
        const View source = permuted(self_tensor, rows.order());
        const View target = permuted(grad_input_tensor, rows.order());
        vector_norm_gradient(target.tensor(), grad_output_tensor, source.tensor(), norm_tensor, rows, order);
    });
}
