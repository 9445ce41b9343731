// IndexFill: slices at listed positions set to one value, passed as a number or as a 0-d tensor.
#include "diopi_core/arguments.h"
#include "indexing.h"
#include "indexing_kernels.h"
#include "positions.h"

using namespace diopigen::core;

namespace {

// target = input, then the slices at `index` become the value. In place where both are the same.
void fill_with(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index, const Number& value) {
    require_disjoint(target, index);
    const DimSplit split = split_at(input, dim);
    fill_slices_at(target, input, Positions(index, split.size, Negative::kFromEnd), split, value);
}

void fill_with(const Tensor& target, const Tensor& input, int64_t dim, const Tensor& index, const Tensor& value) {
    require_disjoint(target, index);
    require_disjoint(target, value);
    const DimSplit split = split_at(input, dim);
    fill_slices_with(target, input, Positions(index, split.size, Negative::kFromEnd), split, value);
}

}  // namespace

void diopigen::entry::index_fill_scalar(const IndexFillScalarArgs& args) {
    fill_with(args.out, args.input, args.dim, args.index, args.value);
}

void diopigen::entry::index_fill_inp_scalar(const IndexFillInpScalarArgs& args) {
    fill_with(args.input, args.input, args.dim, args.index, args.value);
}

void diopigen::entry::index_fill(const IndexFillArgs& args) {
    fill_with(args.out, args.input, args.dim, args.index, args.value);
}

void diopigen::entry::index_fill_inp(const IndexFillInpArgs& args) {
    fill_with(args.input, args.input, args.dim, args.index, args.value);
}
