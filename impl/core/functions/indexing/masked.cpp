// MaskedScatter and the gradient of MaskedSelect: elements of a vector, in order, to the positions under a mask.
#include "indexing.h"
#include "mask_selection.h"

using namespace diopigen::core;

void diopigen::entry::masked_scatter(const MaskedScatterArgs& args) {
    require_disjoint(args.out, args.source);
    require_disjoint(args.out, args.mask);
    const MaskSelection selection(args.mask, shape_of(args.out));
    require(args.source.numel >= selection.count(),
            "C1: source has at least as many elements as the broadcast mask has true ones");
    copy_unless_same(args.out, args.input);
    selection.put(args.out, args.source);
}

void diopigen::entry::masked_select_backward(const MaskedSelectBackwardArgs& args) {
    if (args.grad_input.numel == 0 && is_same_shape(args.grad_input, args.input)) {
        require(args.grad_output.numel == 0,
                "C1: grad_output has as many elements as the broadcast mask has true ones");
        return;
    }
    require_broadcast(args.grad_input, {&args.input, &args.mask});
    require_disjoint(args.grad_input, args.grad_output);
    require_disjoint(args.grad_input, args.mask);
    const MaskSelection selection(args.mask, shape_of(args.grad_input));
    require(args.grad_output.numel == selection.count(),
            "C1: grad_output has as many elements as the broadcast mask has true ones");
    fill(args.grad_input, Number::of(0));
    selection.put(args.grad_input, args.grad_output);
}
