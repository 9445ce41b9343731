// Index, its gradient, and IndexPut. Where positions repeat, IndexPut without accumulate keeps the last value.
#include "advanced.h"
#include "indexing.h"
#include "positions.h"

using namespace diopigen::core;

namespace {

void put(const Tensor& target, const Tensor& values, const Advanced& index, bool accumulate) {
    const View view = permuted(target, index.order);
    put_at(view.tensor(), values, index, accumulate);
}

// The values, broadcast to what the index picks.
View broadcast_values(const Tensor& values, const Advanced& index) {
    const auto rank = static_cast<int64_t>(index.shape.size());
    bool fits = values.rank <= rank;
    for (int64_t i = 1; fits && i <= values.rank; ++i) {
        const int64_t size = values.shape[values.rank - i];
        fits = size == 1 || size == index.shape[rank - i];
    }
    if (!fits) {
        fail("parameter 'values' has the shape " + shape_text(values.shape, values.rank) +
             ", which does not broadcast to " + shape_text(index.shape.data(), rank) + ", which the indices pick");
    }
    return expanded(values, index.shape);
}

void put_values(const Tensor& out, const Tensor& input, const Tensor& values, const std::vector<Tensor>& indices,
                bool accumulate) {
    const Advanced index = advanced(input, indices);
    const View source = broadcast_values(values, index);
    require_disjoint(out, values);
    index.require_apart(out);
    copy_unless_same(out, input);
    put(out, source.tensor(), index, accumulate);
}

}  // namespace

void diopigen::entry::index(const IndexArgs& args) {
    const Advanced index = advanced(args.input, args.indices);
    const View source = permuted(args.input, index.order);
    const Tensor result = new_tensor(args.ctx, "out", index.shape, args.input.dtype, args.input);
    pick_at(result, source.tensor(), index);
    *args.out = result.handle;
}

void diopigen::entry::index_backward(const IndexBackwardArgs& args) {
    const Advanced index = advanced(args.zeros_like_input, args.indices);
    require_shape(args.grad_output, index.shape);
    require_disjoint(args.grad_input, args.grad_output);
    index.require_apart(args.grad_input);
    copy_unless_same(args.grad_input, args.zeros_like_input);
    put(args.grad_input, args.grad_output, index, true);
}

void diopigen::entry::index_put(const IndexPutArgs& args) {
    put_values(args.out, args.input, args.values, args.indices, args.accumulate);
}

void diopigen::entry::index_put_inp(const IndexPutInpArgs& args) {
    put_values(args.input, args.input, args.values, args.indices, args.accumulate);
}
