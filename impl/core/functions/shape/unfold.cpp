// Unfold, a copy of overlapping views, and its gradient, a sum over them.
#include "diopi_core/arguments.h"
#include "shape.h"
#include "shape_kernels.h"

using namespace diopigen::core;

namespace {

// The windows along one dimension of a tensor.
struct Windows {
    Windows(const Tensor& input, int64_t dim, int64_t size, int64_t step)
        : at(wrap_dim(dim, input.rank)), shape(shape_of(input)) {
        if (input.rank > 0) {
            count = (input.shape[at] - size) / step + 1;
            shape[static_cast<size_t>(at)] = count;
        }
        shape.push_back(size);
    }

    int64_t at;
    int64_t count = 1;
    std::vector<int64_t> shape;
};

}  // namespace

void diopigen::entry::unfold(const UnfoldArgs& args) {
    require_disjoint(args.out, args.input);
    const Windows windows(args.input, args.dim, args.size, args.step);
    require_shape(args.out, windows.shape);
    std::vector<int64_t> strides(args.input.strides, args.input.strides + args.input.rank);
    if (!strides.empty()) {
        strides.push_back(strides[static_cast<size_t>(windows.at)]);
    }
    strides.resize(windows.shape.size());  // the window over a 0-d tensor has one element at most
    if (args.input.rank > 0 && windows.count > 1) {
        strides[static_cast<size_t>(windows.at)] *= args.step;
    }
    const View view(args.input, windows.shape, std::move(strides));
    copy_elements(args.out, view.tensor());
}

void diopigen::entry::unfold_backward(const UnfoldBackwardArgs& args) {
    require_disjoint(args.grad_input, args.grad_output);
    const Windows windows(args.grad_input, args.dim, args.size, args.step);
    require_shape(args.grad_output, windows.shape);
    add_up_windows(args.grad_input, args.grad_output, split_at(args.grad_input, args.dim), windows.count, args.size,
                   args.step);
}
