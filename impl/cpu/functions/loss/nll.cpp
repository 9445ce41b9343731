// NLLLoss and NLLLossV2 with their gradients: sums in double. The mean divides by the weights of the samples that
// count.
#include <diopi/functions.h>

#include "classes.h"
#include "diopi_cpu/reduction.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

constexpr const char* kShapeRule = "C1: the shape of target is that of input without its class dimension";

void nll(const Tensor& out, const Tensor& total_weight, const Tensor& input, const Tensor& target, const Tensor& weight,
         diopiReduction_t reduction, int64_t ignored) {
    const Classes sizes = classes_of(input);
    require(shape_of(target) == sizes.without, kShapeRule);
    check_classification(out, input, target, weight, sizes, reduction);
    require_shape(out, reduction == ReductionNone ? sizes.without : std::vector<int64_t>());
    if (!total_weight.is_null()) {
        check_classification(total_weight, input, target, weight, sizes, reduction);
        require_shape(total_weight, {});
        require_disjoint(total_weight, out);
    }
    nll_losses(out, total_weight, input, target, weight, sizes, reduction, ignored);
}

// Where `total_weight` is null, the weights that the mean divides by are summed up.
void nll_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& input, const Tensor& target,
                  const Tensor& weight, const Tensor& total_weight, diopiReduction_t reduction, int64_t ignored) {
    const Classes sizes = classes_of(input);
    require(shape_of(target) == sizes.without, kShapeRule);
    check_classification(grad_input, input, target, weight, sizes, reduction);
    require_same_shape(grad_input, input);
    require_same_dtype(grad_output, input);
    require_broadcastable(grad_output, target);
    require_incoming(grad_output, reduction);
    require_same_dtype(total_weight, input);
    require_shape(total_weight, {});
    require_one_device({&input, &grad_output, &total_weight});
    require_disjoint(grad_input, grad_output);
    require_disjoint(grad_input, total_weight);
    nll_gradients(grad_input, grad_output, input, target, weight, total_weight, sizes, reduction, ignored);
}

}  // namespace

DIOPI_API diopiError_t diopiNLLLoss(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                    diopiReduction_t reduction, int64_t ignore_index) {
    return guarded("diopiNLLLoss", ctx, [&] {
        nll(tensor("out", out, kFloating), Tensor(), tensor("input", input, kFloating),
            tensor("target", target, kInt64), optional_tensor("weight", weight, kFloating), reduction, ignore_index);
    });
}

DIOPI_API diopiError_t diopiNLLLossV2(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                      diopiTensorHandle_t totalWeight, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                      diopiReduction_t reduction, int64_t ignore_index) {
    return guarded("diopiNLLLossV2", ctx, [&] {
        nll(tensor("out", out, kFloating), optional_tensor("totalWeight", totalWeight, kFloating),
            tensor("input", input, kFloating), tensor("target", target, kInt64),
            optional_tensor("weight", weight, kFloating), reduction, ignore_index);
    });
}

DIOPI_API diopiError_t diopiNLLLossBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                            diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                            diopiReduction_t reduction, int64_t ignore_index) {
    return guarded("diopiNLLLossBackward", ctx, [&] {
        nll_backward(tensor("grad_input", grad_input, kFloating), tensor("grad_output", grad_output, kFloating),
                     tensor("input", input, kFloating), tensor("target", target, kInt64),
                     optional_tensor("weight", weight, kFloating), Tensor(), reduction, ignore_index);
    });
}

DIOPI_API diopiError_t diopiNLLLossV2Backward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                              diopiConstTensorHandle_t totalWeight, diopiReduction_t reduction,
                                              int64_t ignore_index) {
    return guarded("diopiNLLLossV2Backward", ctx, [&] {
        nll_backward(tensor("grad_input", grad_input, kFloating), tensor("grad_output", grad_output, kFloating),
                     tensor("input", input, kFloating), tensor("target", target, kInt64),
                     optional_tensor("weight", weight, kFloating),
                     optional_tensor("totalWeight", totalWeight, kFloating), reduction, ignore_index);
    });
}
