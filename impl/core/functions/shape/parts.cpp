// SplitWithSizes and MeshGrid: several copies of views.
#include "diopi_core/raw_elements.h"
#include "shape.h"

using namespace diopigen::core;

namespace {

// out i is a copy of view i.
void copy_all(const std::vector<Tensor>& outs, const std::vector<View>& views, const std::vector<Tensor>& inputs) {
    for (size_t i = 0; i < outs.size(); ++i) {
        for (const Tensor& input : inputs) {
            require_disjoint(outs[i], input);
        }
    }
    for (size_t i = 0; i < outs.size(); ++i) {
        copy_elements(outs[i], views[i].tensor());
    }
}

}  // namespace

void diopigen::entry::split_with_sizes(const SplitWithSizesArgs& args) {
    const int64_t at = wrap_dim(args.dim, args.input.rank);
    std::vector<View> views;
    int64_t start = 0;
    for (int64_t i = 0; i < args.splitSizes.len; ++i) {
        views.push_back(narrowed(args.input, at, start, args.splitSizes.data[i]));
        start += args.splitSizes.data[i];
    }
    copy_all(args.outs, views, {args.input});
}

void diopigen::entry::mesh_grid(const MeshGridArgs& args) {
    std::vector<int64_t> shape;
    for (const Tensor& vector : args.inputs) {
        shape.push_back(vector.numel);
    }
    std::vector<View> views;
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        const Tensor& vector = args.inputs[i];
        std::vector<int64_t> strides(shape.size(), 0);
        strides[i] = vector.rank == 0 ? 0 : vector.strides[0];
        views.emplace_back(vector, shape, std::move(strides));
    }
    copy_all(args.outs, views, args.inputs);
}
