// Nonzero and MaskedSelect: outputs whose size follows from the data, allocated through the host.
#include "indexing.h"
#include "mask_selection.h"

using namespace diopigen::core;

void diopigen::entry::nonzero(const NonzeroArgs& args) {
    // What is no bool yet is converted; a bool's bytes are used as they are.
    const bool is_truth = args.input.dtype == Dtype::kBool || args.input.dtype == Dtype::kUint8;
    Buffer bools;
    Tensor source = args.input;
    const std::vector<int64_t> shape = shape_of(args.input);
    std::vector<int64_t> strides(shape.size());
    if (!is_truth) {
        bools.allocate(args.input.numel);
        source.data = bools.data();
        source.dtype = Dtype::kBool;
        source.strides = strides.data();
        for (int64_t d = args.input.rank, stride = 1; d-- > 0; stride *= shape[d]) {
            strides[d] = stride;
        }
        copy_elements(source, args.input);
    }
    const MaskSelection selection(source, shape);
    const Tensor result = new_tensor(args.ctx, "out", {selection.count(), args.input.rank}, Dtype::kInt64, args.input);
    selection.store_coordinates(result, shape);
    *args.out = result.handle;
}

void diopigen::entry::masked_select(const MaskedSelectArgs& args) {
    const std::vector<int64_t> shape = broadcast_shape(args.input, args.mask);
    const View input = expanded(args.input, shape);
    const MaskSelection selection(args.mask, shape);
    const Tensor result = new_tensor(args.ctx, "out", {selection.count()}, args.input.dtype, args.input);
    selection.take(result, input.tensor());
    *args.out = result.handle;
}
