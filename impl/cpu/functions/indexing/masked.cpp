// MaskedScatter and the gradient of MaskedSelect: elements of a vector, in order, to the places under a mask.
#include <diopi/functions.h>

#include <string>

#include "chosen.h"

using namespace diopi::cpu;

namespace {

void check(const Tensor& target, const Tensor& source, const Tensor& input, const Tensor& mask) {
    require_same_dtype(target, source);
    require_same_dtype(input, source);
    require_broadcast(target, {&input, &mask});
    require_one_device({&target, &source, &input, &mask});
    require_no_overlap(target);
    require_disjoint(target, source);
    require_disjoint(target, mask);
}

}  // namespace

DIOPI_API diopiError_t diopiMaskedScatter(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                                          diopiConstTensorHandle_t source) {
    return guarded("diopiMaskedScatter", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        const Tensor source_tensor = tensor("source", source, kAny);
        check(out_tensor, source_tensor, input_tensor, mask_tensor);
        require_no_overlap(out_tensor, input_tensor);
        const Chosen places(mask_tensor, shape_of(out_tensor));
        if (source_tensor.numel < places.count()) {
            fail("parameter 'source' has " + std::to_string(source_tensor.numel) + " elements for " +
                 std::to_string(places.count()) + " true ones of 'mask'");
        }
        copy_unless_same(out_tensor, input_tensor);
        places.put(out_tensor, source_tensor);
    });
}

DIOPI_API diopiError_t diopiMaskedSelectBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                                 diopiConstTensorHandle_t mask) {
    return guarded("diopiMaskedSelectBackward", ctx, [&] {
        const Tensor result = tensor("grad_input", grad_input, kFloating | kComplex);
        const Tensor gradient = tensor("grad_output", grad_output, kFloating | kComplex);
        const Tensor input_tensor = tensor("input", input, kFloating | kComplex);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        check(result, gradient, input_tensor, mask_tensor);
        require_no_overlap(result, input_tensor);
        const Chosen places(mask_tensor, shape_of(result));
        require_shape(gradient, {places.count()});
        fill(result, Number::of(0));
        places.put(result, gradient);
    });
}
