// AvgPool1d, AvgPool2d, AvgPool3d, forward and backward.
#include "pooling.h"
#include "pooling_kernels.h"

using namespace diopigen::core;
namespace entry = diopigen::entry;

namespace {

template <typename Args>
Pooling pooling_of(int space, const Args& args, const Tensor& pooled) {
    return sliding_pool(args.input, pooled, space,
                        pool_window(space, "kernel_size", args.kernel_size, args.stride, args.padding, nullptr));
}

template <typename Args>
void pool(int space, const Args& args, std::optional<int64_t> divisor) {
    require_disjoint(args.out, args.input);
    avg_pool(args.out, args.input, pooling_of(space, args, args.out), {args.count_include_pad, divisor});
}

template <typename Args>
void pool_backward(int space, const Args& args, std::optional<int64_t> divisor) {
    require_disjoint(args.grad_input, args.grad_output);
    avg_pool_backward(args.grad_input, args.grad_output, pooling_of(space, args, args.grad_output),
                      {args.count_include_pad, divisor});
}

}  // namespace

void entry::avg_pool1d(const AvgPool1dArgs& args) { pool(1, args, std::nullopt); }
void entry::avg_pool1d_backward(const AvgPool1dBackwardArgs& args) { pool_backward(1, args, std::nullopt); }

void entry::avg_pool2d(const AvgPool2dArgs& args) { pool(2, args, args.divisor_override); }
void entry::avg_pool2d_backward(const AvgPool2dBackwardArgs& args) { pool_backward(2, args, args.divisor_override); }

void entry::avg_pool3d(const AvgPool3dArgs& args) { pool(3, args, args.divisor_override); }
void entry::avg_pool3d_backward(const AvgPool3dBackwardArgs& args) { pool_backward(3, args, args.divisor_override); }
