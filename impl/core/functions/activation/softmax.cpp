// Softmax and LogSoftmax with their gradients. The maximum is subtracted before exponentials are taken; sums are kept
// in double. Along the last dimension full rows are taken, along others strips of columns.
#include "activation.h"
#include "activation_kernels.h"
#include "diopi_core/arguments.h"

using namespace diopigen::core;

namespace {

// The contract leaves the dtype of the result to the library: that of the operands, or float32 for float16 and
// bfloat16.
void take(SoftmaxKind kind, const Tensor& out, const Tensor& first, const Tensor& second, int64_t dim) {
    const bool is_mixed = (is_half(out.dtype) && first.dtype == Dtype::kFloat32) ||
                          (out.dtype == Dtype::kFloat32 && is_half(first.dtype));
    if (!is_mixed) {
        require_same_dtype(out, first);
    }
    softmax_along(kind, out, first, second, split_at(out, dim));
}

}  // namespace

void diopigen::entry::softmax(const SoftmaxArgs& args) {
    take(SoftmaxKind::kSoftmax, args.out, args.input, args.input, args.dim);
}

void diopigen::entry::log_softmax(const LogSoftmaxArgs& args) {
    take(SoftmaxKind::kLogSoftmax, args.out, args.input, args.input, args.dim);
}

void diopigen::entry::softmax_backward(const SoftmaxBackwardArgs& args) {
    take(SoftmaxKind::kSoftmaxGradient, args.grad_input, args.grad_output, args.output, args.dim);
}

void diopigen::entry::log_softmax_backward(const LogSoftmaxBackwardArgs& args) {
    take(SoftmaxKind::kLogSoftmaxGradient, args.grad_input, args.grad_output, args.output, args.dim);
}
