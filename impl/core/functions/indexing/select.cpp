// IndexSelect, Gather and Embedding. All positions are checked before anything is written. Elements are moved as they
// are, so that every dtype goes the same way.
#include "diopi_core/arguments.h"
#include "indexing.h"
#include "indexing_kernels.h"

using namespace diopigen::core;

void diopigen::entry::index_select(const IndexSelectArgs& args) {
    require_disjoint(args.out, args.input);
    require_disjoint(args.out, args.index);
    const DimSplit split = split_at(args.input, args.dim);
    const Input<Int64> positions(args.index);
    require_positions(positions, args.index.numel, split.size,
                      "C2: every value of index is in [0, size(input, dim) - 1]");
    pick(args.out, args.input, positions, args.index.numel, split);
}

void diopigen::entry::gather(const GatherArgs& args) {
    require_disjoint(args.out, args.input);
    require_disjoint(args.out, args.index);
    const Input<Int64> positions(args.index);
    require_positions(positions, args.index.numel, split_at(args.input, args.dim).size,
                      "C4: every value of index is in [0, size(input, dim) - 1]");
    if (args.index.numel > 0) {
        gather_elements(args.out, args.input, positions, args.index, wrap_dim(args.dim, args.input.rank));
    }
}

void diopigen::entry::embedding(const EmbeddingArgs& args) {
    const int64_t rows = args.weight.shape[0];
    const int64_t width = args.weight.shape[1];
    std::vector<int64_t> shape = shape_of(args.indices);
    shape.push_back(width);
    require_shape(args.out, shape);
    require_disjoint(args.out, args.weight);
    require_disjoint(args.out, args.indices);
    const Input<Int64> positions(args.indices);
    require_positions(positions, args.indices.numel, rows, "C1: every value of indices is in [0, V - 1]");
    pick(args.out, args.weight, positions, args.indices.numel, {1, rows, width});
}
