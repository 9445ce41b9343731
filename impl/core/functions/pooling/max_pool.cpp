// MaxPool1d, MaxPool2d, MaxPool3d, with and without indices.
#include "diopi_core/dense.h"
#include "diopi_core/free_dtype.h"
#include "pooling.h"
#include "pooling_kernels.h"

using namespace diopigen::core;
namespace entry = diopigen::entry;

namespace {

template <typename Args>
Pooling pooling_of(int space, const Args& args, const Tensor& pooled) {
    return sliding_pool(args.input, pooled, space,
                        pool_window(space, "kernel_size", args.kernel_size, args.stride, args.padding, &args.dilation));
}

template <typename Args>
void pool(int space, const Args& args, const Tensor& indices) {
    require_dtype_in(indices, kIndex);
    require_disjoint(args.out, args.input);
    max_pool(args.out, indices, args.input, pooling_of(space, args, args.out));
}

// Where `indices` is null, the maxima are looked for again.
template <typename Args>
void pool_backward(int space, const Args& args) {
    const Tensor& grad_out = args.grad_output;
    require_dtype_in(args.indices, kIndex);
    require_disjoint(args.grad_input, grad_out);
    require_disjoint(args.grad_input, args.input);
    const Pooling pooling = pooling_of(space, args, grad_out);
    const auto spread = [&](const Tensor& positions) {
        max_pool_backward(args.grad_input, grad_out, positions, pooling,
                          "C5: every index is -1 or a position in its plane of input");
    };
    if (!args.indices.is_null()) {
        spread(args.indices);
        return;
    }
    const Temporary positions(shape_of(grad_out), Dtype::kInt64, args.input);
    const Temporary maxima(shape_of(grad_out), args.input.dtype, args.input);
    max_pool(maxima.tensor(), positions.tensor(), args.input, pooling);
    spread(positions.tensor());
}

}  // namespace

void entry::max_pool1d(const MaxPool1dArgs& args) { pool(1, args, Tensor()); }
void entry::max_pool1d_with_indices(const MaxPool1dWithIndicesArgs& args) { pool(1, args, args.indices); }
void entry::max_pool1d_backward(const MaxPool1dBackwardArgs& args) { pool_backward(1, args); }

void entry::max_pool2d(const MaxPool2dArgs& args) { pool(2, args, Tensor()); }
void entry::max_pool2d_with_indices(const MaxPool2dWithIndicesArgs& args) { pool(2, args, args.indices); }
void entry::max_pool2d_backward(const MaxPool2dBackwardArgs& args) { pool_backward(2, args); }

void entry::max_pool3d(const MaxPool3dArgs& args) { pool(3, args, Tensor()); }
void entry::max_pool3d_with_indices(const MaxPool3dWithIndicesArgs& args) { pool(3, args, args.indices); }
void entry::max_pool3d_backward(const MaxPool3dBackwardArgs& args) { pool_backward(3, args); }
