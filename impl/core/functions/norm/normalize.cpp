// Normalize and its gradient: vectors along one dimension over their p-norm, in double.
#include "norm.h"
#include "norm_kernels.h"
#include "statistics.h"

using namespace diopigen::core;

namespace {

// Dimensions with `axis` last.
std::vector<int64_t> axis_last(const Tensor& input, int64_t axis) {
    const int64_t last = wrap_dim(axis, input.rank);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < input.rank; ++i) {
        if (i != last) {
            order.push_back(i);
        }
    }
    order.push_back(last);
    return order;
}

}  // namespace

void diopigen::entry::normalize(const NormalizeArgs& args) {
    const std::vector<int64_t> order = axis_last(args.input, args.axis);
    const View from = permuted(args.input, order);
    const View to = permuted(args.output, order);
    normalise_by_norm(to.tensor(), from.tensor(), args.input.shape[order.back()], args.p, args.eps);
}

void diopigen::entry::normalize_backward(const NormalizeBackwardArgs& args) {
    require_separate({&args.grad_input}, {&args.grad_output, &args.input});
    const std::vector<int64_t> order = axis_last(args.input, args.axis);
    const View x = permuted(args.input, order);
    const View grad_out = permuted(args.grad_output, order);
    const View gradient = permuted(args.grad_input, order);
    gradients_through_norm(gradient.tensor(), grad_out.tensor(), x.tensor(), args.input.shape[order.back()], args.p,
                           args.eps);
}
