// Permute, Transpose, Flip and Repeat: copies of a view.
#include <numeric>
#include <vector>

#include "diopi_core/arguments.h"
#include "diopi_core/dense.h"
#include "shape.h"

using namespace diopigen::core;

namespace {

void copy_view(const Tensor& out, const View& view) {
    require_disjoint(out, view.tensor());
    copy_elements(out, view.tensor());
}

}  // namespace

void diopigen::entry::permute(const PermuteArgs& args) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < args.dims.len; ++i) {
        order.push_back(wrap_dim(args.dims.data[i], args.input.rank));
    }
    copy_view(args.out, permuted(args.input, order));
}

void diopigen::entry::transpose(const TransposeArgs& args) {
    std::vector<int64_t> order(static_cast<size_t>(args.input.rank));
    std::iota(order.begin(), order.end(), 0);
    if (args.input.rank > 0) {
        std::swap(order[wrap_dim(args.dim0, args.input.rank)], order[wrap_dim(args.dim1, args.input.rank)]);
    }
    copy_view(args.out, permuted(args.input, order));
}

void diopigen::entry::flip(const FlipArgs& args) {
    require_disjoint(args.out, args.input);
    std::vector<int64_t> strides(args.input.strides, args.input.strides + args.input.rank);
    int64_t offset = 0;
    for (int64_t i = 0; i < args.dims.len && args.input.rank > 0; ++i) {
        const int64_t dim = wrap_dim(args.dims.data[i], args.input.rank);
        offset += (args.input.shape[dim] - 1) * strides[dim];
        strides[dim] = -strides[dim];
    }
    const View view(args.input, shape_of(args.input), strides, args.input.numel > 0 ? offset : 0);
    copy_elements(args.out, view.tensor());
}

void diopigen::entry::repeat(const RepeatArgs& args) {
    constexpr int64_t kMost = int64_t{1} << 31;
    require(2 * args.repeats_size.len <= kMaxRank, "'repeats_size' has too many entries");
    require_disjoint(args.out, args.input);
    if (args.out.numel == 1) {  // of one element, where contracts take 0-d for [1] and the other way round
        copy_elements(View(args.out, {}, {}).tensor(), View(args.input, {}, {}).tensor());
        return;
    }
    const int64_t extra = args.repeats_size.len - args.input.rank;
    // Every dimension becomes two, tiles by elements; those of the input have stride 0 along the tiles.
    std::vector<int64_t> tiled_shape;
    for (int64_t i = 0; i < args.repeats_size.len; ++i) {
        const int64_t size = i < extra ? 1 : args.input.shape[i - extra];
        require(args.repeats_size.data[i] <= kMost && size <= kMost, "'repeats_size' has an entry beyond all memory");
        tiled_shape.insert(tiled_shape.end(), {args.repeats_size.data[i], size});
    }
    std::vector<int64_t> from_strides;
    std::vector<int64_t> to_strides;
    for (int64_t i = 0; i < args.repeats_size.len; ++i) {
        from_strides.insert(from_strides.end(), {0, i < extra ? 0 : args.input.strides[i - extra]});
        to_strides.insert(to_strides.end(), {tiled_shape[2 * i + 1] * args.out.strides[i], args.out.strides[i]});
    }
    const View tiles(args.input, tiled_shape, from_strides);
    const View target(args.out, tiled_shape, to_strides);
    copy_elements(target.tensor(), tiles.tensor());
}
