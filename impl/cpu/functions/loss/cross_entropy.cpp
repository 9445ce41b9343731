// CrossEntropyLoss and its gradient: exponentials in the dtype, everything else in double. The mean over class indices
// divides by the weights of the samples that count; over class probabilities, by the number of samples.
#include <diopi/functions.h>

#include <cmath>

#include "../activation/softmax_rows.h"
#include "classes.h"
#include "diopi_cpu/reduction.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiCrossEntropyLoss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                             diopiConstTensorHandle_t weight, diopiReduction_t reduction,
                                             int64_t ignore_index, double label_smoothing) {
    return guarded("diopiCrossEntropyLoss", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const CrossEntropyProblem problem(
            out_tensor, tensor("input", input, kFloating), tensor("target", target, kInt64 | kFloating),
            optional_tensor("weight", weight, kFloating), reduction, ignore_index, label_smoothing);
        const Classes& sizes = problem.sizes;
        require_shape(out_tensor, reduction == ReductionNone ? sizes.without : std::vector<int64_t>());
        cross_entropy_losses(out_tensor, problem);
    });
}

DIOPI_API diopiError_t diopiCrossEntropyLossBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                     diopiConstTensorHandle_t grad_output,
                                                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                                     diopiConstTensorHandle_t weight, diopiReduction_t reduction,
                                                     int64_t ignore_index, double label_smoothing) {
    return guarded("diopiCrossEntropyLossBackward", ctx, [&] {
        const Tensor gradient_tensor = tensor("grad_input", grad_input, kFloating);
        const Tensor incoming_tensor = tensor("grad_output", grad_output, kFloating);
        const CrossEntropyProblem problem(
            gradient_tensor, tensor("input", input, kFloating), tensor("target", target, kInt64 | kFloating),
            optional_tensor("weight", weight, kFloating), reduction, ignore_index, label_smoothing);
        const Classes& sizes = problem.sizes;
        require_same_shape(gradient_tensor, problem.input);
        require_same_dtype(incoming_tensor, problem.input);
        require(incoming_tensor.rank == 0 || (incoming_tensor.rank == 1 && incoming_tensor.numel == 1) ||
                    (reduction == ReductionNone && shape_of(incoming_tensor) == sizes.without),
                "C6: grad_output is 0-d, or without reduction of the shape of input without its class dimension");
        require_one_device({&gradient_tensor, &incoming_tensor});
        require_disjoint(gradient_tensor, incoming_tensor);
        cross_entropy_gradients(gradient_tensor, incoming_tensor, problem);
    });
}
