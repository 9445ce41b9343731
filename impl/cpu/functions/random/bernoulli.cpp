// Bernoulli in its three forms: 1 where a number drawn from [0, 1) lies below the probability, so that 0 never and 1
// always gives 1.
#include <diopi/functions.h>

#include "draw.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiBernoulli(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                      diopiGeneratorHandle_t generator) {
    return guarded("diopiBernoulli", ctx, [&] {
        const Tensor out_tensor = target_tensor("out", out, generator, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor, input_tensor);
        draw_coins(out_tensor, input_tensor, generator, "C1: every element of input lies between 0 and 1");
    });
}

DIOPI_API diopiError_t diopiBernoulliInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout,
                                         diopiGeneratorHandle_t generator) {
    return guarded("diopiBernoulliInp", ctx, [&] {
        const Tensor target = target_tensor("inout", inout, generator, kFloating);
        draw_coins(target, target, generator, "C1: every element of inout lies between 0 and 1");
    });
}

DIOPI_API diopiError_t diopiBernoulliScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out, double p,
                                            diopiGeneratorHandle_t generator) {
    return guarded("diopiBernoulliScalar", ctx, [&] {
        const Tensor target = target_tensor("out", out, generator, kNumber | kBool);
        require(p >= 0 && p <= 1, "p.range: p is at least 0 and at most 1");
        draw_coins(target, p, generator);
    });
}
