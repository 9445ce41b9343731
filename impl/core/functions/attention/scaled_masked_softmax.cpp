// ScaledMaskedSoftmax (Megatron-LM) and its gradient: the last dimension of [batch, heads, queries, keys]; a hidden
// score counts as -10000.
#include "attention.h"
#include "attention_kernels.h"
#include "diopi_core/free_dtype.h"

using namespace diopigen::core;
using namespace diopigen::core::attention;

void diopigen::entry::scaled_masked_softmax(const ScaledMaskedSoftmaxArgs& args) {
    require_dtype_in(args.mask, kMask);
    require_disjoint(args.output, args.mask);
    masked_softmax(args.output, args.input, args.mask, args.scale, args.fixed_triu_mask);
}

void diopigen::entry::scaled_masked_softmax_backward(const ScaledMaskedSoftmaxBackwardArgs& args) {
    require_dtype_in(args.mask, kMask);
    require_disjoint(args.grad_input, args.mask);
    masked_softmax_gradient(args.grad_input, args.grad_output, args.output, args.mask, args.scale,
                            args.fixed_triu_mask);
}
