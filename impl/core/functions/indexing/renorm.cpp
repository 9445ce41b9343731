// EmbeddingRenorm_: rows of a table cut to a norm.
#include "indexing.h"
#include "indexing_kernels.h"
#include "positions.h"

using namespace diopigen::core;

void diopigen::entry::embedding_renorm(const EmbeddingRenormArgs& args) {
    require_disjoint(args.inout, args.indices);
    const Positions positions(args.indices, args.inout.shape[0]);
    cut_rows(args.inout, positions, args.max_norm, args.norm_type);
}
