// Cumsum and its gradient, which runs from the end. Sums are accumulated in double, complex<double> or int64 (which
// wraps).
#include "diopi_core/arguments.h"
#include "reduction.h"
#include "reduction_kernels.h"

using namespace diopigen::core;

void diopigen::entry::cumsum(const CumsumArgs& args) {
    running_sums(args.out, args.input, split_at(args.input, args.dim), true);
}

void diopigen::entry::cumsum_backward(const CumsumBackwardArgs& args) {
    running_sums(args.grad_input, args.grad_output, split_at(args.grad_output, args.dim), false);
}
