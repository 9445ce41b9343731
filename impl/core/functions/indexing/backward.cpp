// Gradients of IndexSelect and Embedding, which add slices up.
#include "diopi_core/arguments.h"
#include "indexing.h"
#include "indexing_kernels.h"
#include "positions.h"

using namespace diopigen::core;

void diopigen::entry::index_select_backward(const IndexSelectBackwardArgs& args) {
    require_rank(args.index, 1);
    require_disjoint(args.grad_input, args.grad);
    require_disjoint(args.grad_input, args.index);
    const DimSplit split = split_at(args.grad_input, args.dim);
    const Positions positions(args.index, split.size);
    add_up_slices(args.grad_input, args.grad, positions, split);
}

void diopigen::entry::embedding_backward(const EmbeddingBackwardArgs& args) {
    require_rank(args.grad, 1);
    std::vector<int64_t> shape = shape_of(args.indices);
    shape.push_back(args.out.shape[1]);
    require_shape(args.grad, shape);
    require_disjoint(args.out, args.grad);
    require_disjoint(args.out, args.indices);
    const Positions rows(args.indices, args.out.shape[0]);
    add_up_rows(args.out, args.grad, rows, args.padding_idx, args.scale_grad_byfreq);
}
