// Dropout and DropoutInp. A mask with sizes of 1 shares its draws along those dimensions.
#include <diopi/functions.h>

#include "draw.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

void dropout(const Tensor& out, const Tensor& mask, const Tensor& input, double p, bool train,
             diopiGeneratorHandle_t generator) {
    require(p >= 0 && p <= 1, "C1: p lies between 0 and 1");
    bool fits = mask.rank == input.rank;
    for (int64_t i = 0; fits && i < mask.rank; ++i) {
        fits = mask.shape[i] == 1 || mask.shape[i] == input.shape[i];
    }
    require(fits, "C2: the shape of mask broadcasts to that of input");
    require_generator(generator);
    require_one_device({&out, &mask, &input});
    require_no_overlap(out);
    require_no_overlap(mask);
    require_disjoint(mask, out);
    require_disjoint(mask, input);
    drop_out(out, mask, input, p, train, generator);
}

}  // namespace

DIOPI_API diopiError_t diopiDropout(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiTensorHandle_t mask,
                                    diopiConstTensorHandle_t input, double p, bool train,
                                    diopiGeneratorHandle_t generator) {
    return guarded("diopiDropout", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor mask_tensor = tensor("mask", mask, kBool);
        const Tensor input_tensor = tensor("input", input, kFloating);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        require_no_overlap(out_tensor, input_tensor);
        dropout(out_tensor, mask_tensor, input_tensor, p, train, generator);
    });
}

DIOPI_API diopiError_t diopiDropoutInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiTensorHandle_t mask,
                                       double p, bool train, diopiGeneratorHandle_t generator) {
    return guarded("diopiDropoutInp", ctx, [&] {
        const Tensor target = tensor("input", input, kFloating);
        dropout(target, tensor("mask", mask, kBool), target, p, train, generator);
    });
}
