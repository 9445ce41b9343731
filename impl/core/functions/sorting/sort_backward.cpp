// The gradient of operators that pick elements along one dimension. Of repeated indices the last stays.
#include "../indexing/positions.h"
#include "sorting.h"
#include "sorting_kernels.h"

using namespace diopigen::core;

void diopigen::entry::sort_backward(const SortBackwardArgs& args) {
    const Tensor& result = args.grad_input;
    require_disjoint(result, args.grad_output);
    require_disjoint(result, args.indices);
    const int64_t dim = wrap_dim(args.dim, result.rank);
    const int64_t count = result.rank > 0 && args.keepdim ? args.indices.shape[dim] : 1;
    const DimSplit split = split_at(shape_at_least_1d(result), dim);
    const Positions positions(args.indices, split.size);
    return_slices(result, args.grad_output, positions, split, count);
}
