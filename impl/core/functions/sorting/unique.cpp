// Unique: distinct elements or slices. Both come sorted in any case, NaN above all numbers and each NaN on its own; of
// equal ones (zeros of both signs) the first is taken.
#include <algorithm>
#include <numeric>
#include <vector>

#include "diopi_core/dense.h"
#include "distinct.h"
#include "sorting.h"

using namespace diopigen::core;

namespace {

// The slices along one dimension, or the elements where there is none.
struct Cut {
    std::vector<int64_t> order;      // of the dimensions of input, the cut one first
    std::vector<int64_t> out_order;  // the same for out
    std::vector<int64_t> positions;  // the shape that `indices` has
    std::vector<int64_t> shape;      // the shape of a slice of out
    int64_t count = 1;
    int64_t length = 1;
};

Cut cut_of(const Tensor& input, std::optional<int64_t> dim) {
    Cut cut;
    cut.order.resize(static_cast<size_t>(input.rank));
    std::iota(cut.order.begin(), cut.order.end(), 0);
    cut.count = input.numel;
    cut.positions = !dim ? shape_of(input) : std::vector<int64_t>{input.numel};
    cut.out_order = {0};
    if (!dim) {
        return cut;
    }
    const int64_t at = wrap_dim(*dim, input.rank);
    if (input.rank == 0) {
        return cut;
    }
    std::rotate(cut.order.begin(), cut.order.begin() + at, cut.order.begin() + at + 1);
    cut.out_order = cut.order;
    cut.count = input.shape[at];
    cut.positions = {cut.count};
    for (size_t k = 1; k < cut.order.size(); ++k) {
        cut.shape.push_back(input.shape[cut.order[k]]);
        cut.length *= cut.shape.back();
    }
    require(cut.length > 0, "parameter 'input' is empty in a dimension other than 'dim'");
    return cut;
}

}  // namespace

void diopigen::entry::unique(const UniqueArgs& args) {
    const bool has_indices = !args.indices.is_null();
    require_disjoint(args.indices, args.input);
    const Cut cut = cut_of(args.input, args.dim);
    const View view = permuted(args.input, cut.order);
    const Distinct groups(view.tensor(), cut.count, cut.length, has_indices);
    std::vector<int64_t> shape(cut.out_order.size(), groups.count());
    for (size_t k = 0; k < cut.shape.size(); ++k) {
        shape[cut.out_order[k + 1]] = cut.shape[k];
    }
    const Tensor result = new_tensor(args.ctx, "out", shape, args.input.dtype, args.input);
    const Tensor sizes =
        args.return_counts ? new_tensor(args.ctx, "counts", {groups.count()}, Dtype::kInt64, args.input) : Tensor{};
    const View target = permuted(result, cut.out_order);
    groups.store_slices(target.tensor(), view.tensor());
    if (has_indices) {
        groups.store_groups(args.indices);
    }
    if (args.return_counts) {
        groups.store_sizes(sizes);
        *args.counts = sizes.handle;
    }
    *args.out = result.handle;
}
