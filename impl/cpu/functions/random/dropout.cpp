// Dropout and DropoutInp. A mask with sizes of 1 shares its draws along those dimensions.
#include <diopi/functions.h>

#include "draw.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

// Nobody wants a null mask; one is made where there is something to draw.
void dropout(diopiContextHandle_t ctx, const Tensor& out, const Tensor& wanted_mask, const Tensor& input, double p,
             bool train, diopiGeneratorHandle_t generator) {
    require(p >= 0 && p <= 1, "p.range: p is at least 0 and at most 1");
    require_generator(generator);
    require_one_device({&out, &wanted_mask, &input});
    require_no_overlap(out);
    if (wanted_mask.is_null() && !train) {
        if (out.data != input.data) {
            copy_elements(out, input);
        }
        return;
    }
    const Tensor mask =
        wanted_mask.is_null() ? new_tensor(ctx, "mask", shape_of(input), Dtype::kBool, input) : wanted_mask;
    bool fits = mask.rank == input.rank;
    for (int64_t i = 0; fits && i < mask.rank; ++i) {
        fits = mask.shape[i] == 1 || mask.shape[i] == input.shape[i];
    }
    require(fits, "C2: the shape of mask broadcasts to that of input");
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
        const Tensor mask_tensor = optional_tensor("mask", mask, kMask);
        const Tensor input_tensor = tensor("input", input, kFloating);
        require_same_dtype(out_tensor, input_tensor);
        require_same_shape(out_tensor, input_tensor);
        require_no_overlap(out_tensor, input_tensor);
        dropout(ctx, out_tensor, mask_tensor, input_tensor, p, train, generator);
    });
}

DIOPI_API diopiError_t diopiDropoutInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiTensorHandle_t mask,
                                       double p, bool train, diopiGeneratorHandle_t generator) {
    return guarded("diopiDropoutInp", ctx, [&] {
        const Tensor target = tensor("input", input, kFloating);
        dropout(ctx, target, optional_tensor("mask", mask, kMask), target, p, train, generator);
    });
}
