// Pool1d, Pool2d, Pool3d: every kind of pooling in one operator, forward and backward.
#include "pooling.h"
#include "pooling_kernels.h"

using namespace diopigen::core;
namespace entry = diopigen::entry;

namespace {

// A mean does without the dilation.
template <typename Args>
Pooling pooling_of(int space, const Args& args, const Tensor& pooled) {
    if (args.adaptive) {
        return adaptive_pool(args.input, pooled, space);
    }
    const diopiSize_t* dilation = args.mode == "max" ? &args.dilation : nullptr;
    return sliding_pool(args.input, pooled, space,
                        pool_window(space, "ksize", args.ksize, args.stride, args.padding, dilation));
}

template <typename Args>
void pool(int space, const Args& args) {
    require_disjoint(args.out, args.input);
    const Pooling pooling = pooling_of(space, args, args.out);
    if (args.mode == "max") {
        max_pool(args.out, Tensor(), args.input, pooling);
    } else {
        avg_pool(args.out, args.input, pooling, {!args.exclusive, std::nullopt});
    }
}

template <typename Args>
void pool_backward(int space, const Args& args) {
    require_disjoint(args.grad_input, args.grad_output);
    const Pooling pooling = pooling_of(space, args, args.grad_output);
    if (args.mode == "max") {
        max_pool_backward(args.grad_input, args.grad_output, args.indices, pooling,
                          "C7: when mode is max, every index is -1 or a position in its plane of input");
    } else {
        avg_pool_backward(args.grad_input, args.grad_output, pooling, {!args.exclusive, std::nullopt});
    }
}

}  // namespace

void entry::pool1d(const Pool1dArgs& args) { pool(1, args); }
void entry::pool1d_backward(const Pool1dBackwardArgs& args) { pool_backward(1, args); }

void entry::pool2d(const Pool2dArgs& args) { pool(2, args); }
void entry::pool2d_backward(const Pool2dBackwardArgs& args) { pool_backward(2, args); }

void entry::pool3d(const Pool3dArgs& args) { pool(3, args); }
void entry::pool3d_backward(const Pool3dBackwardArgs& args) { pool_backward(3, args); }
