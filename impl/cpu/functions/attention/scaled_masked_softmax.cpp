// ScaledMaskedSoftmax (Megatron-LM) and its gradient: the last dimension of [batch, heads, queries, keys]; a hidden
// score counts as -10000.
#include <diopi/functions_ext.h>

#include "kernels.h"
#include "operands.h"

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

constexpr DtypeSet kDtypes = kFloat16 | kBfloat16 | kFloat32;

}  // namespace

DIOPI_API diopiError_t diopiScaledMaskedSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t output,
                                                diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                                                double scale, bool fixed_triu_mask) {
    return guarded("diopiScaledMaskedSoftmax", ctx, [&] {
        const Tensor out = tensor("output", output, kDtypes);
        const Tensor in = tensor("input", input, kDtypes);
        const Tensor mask_tensor = tensor("mask", mask, kMask);
        require_rank(in, 4, 4);
        require_same_dtype(out, in);
        require_same_shape(out, in);
        require_broadcastable(mask_tensor, in);
        require_no_overlap(out);
        require_no_overlap(out, in);
        require_disjoint(out, mask_tensor);
        require_one_device({&out, &in, &mask_tensor});
        masked_softmax(out, in, mask_tensor, scale, fixed_triu_mask);
    });
}

DIOPI_API diopiError_t diopiScaledMaskedSoftmaxBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                                        diopiConstTensorHandle_t grad_output,
                                                        diopiConstTensorHandle_t output, diopiConstTensorHandle_t mask,
                                                        double scale, bool fixed_triu_mask) {
    return guarded("diopiScaledMaskedSoftmaxBackward", ctx, [&] {
        const Tensor grad_in = tensor("grad_input", grad_input, kDtypes);
        const Tensor grad_out = tensor("grad_output", grad_output, kDtypes);
        const Tensor out = tensor("output", output, kDtypes);
        const Tensor mask_tensor = tensor("mask", mask, kMask);
        require_rank(out, 4, 4);
        for (const Tensor* other : {&grad_in, &grad_out}) {
            require_same_dtype(*other, out);
            require_same_shape(*other, out);
        }
        require_broadcastable(mask_tensor, out);
        require_no_overlap(grad_in);
        require_no_overlap(grad_in, grad_out);
        require_no_overlap(grad_in, out);
        require_disjoint(grad_in, mask_tensor);
        require_one_device({&grad_in, &grad_out, &out, &mask_tensor});
        masked_softmax_gradient(grad_in, grad_out, out, mask_tensor, scale, fixed_triu_mask);
    });
}
