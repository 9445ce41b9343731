// InstanceNorm and its gradient: each channel of each sample is normalised by itself. The channels' dimension is moved
// behind the samples'; then it is group normalisation with one channel to a group.
#include "group_norm.h"
#include "kernels.h"
#include "norm.h"

using namespace diopi::core;

namespace {

// Dimensions in the order samples, channels, the others.
std::vector<int64_t> channels_second(const Tensor& input, int64_t axis) {
    const int64_t channels = wrap_dim(axis, input.rank);
    std::vector<int64_t> order = {0, channels};
    for (int64_t i = 1; i < input.rank; ++i) {
        if (i != channels) {
            order.push_back(i);
        }
    }
    return order;
}

}  // namespace

void diopi::kernels::instance_norm(const InstanceNormArgs& args) {
    require_separate({&args.output}, {&args.scale, &args.bias});
    const std::vector<int64_t> order = channels_second(args.input, args.axis);
    const View from = permuted(args.input, order);
    const View to = permuted(args.output, order);
    normalise_channels_of_samples(to.tensor(), from.tensor(), args.scale, args.bias, args.eps);
}

void diopi::kernels::instance_norm_backward(const InstanceNormBackwardArgs& args) {
    require_separate({&args.grad_input, &args.grad_scale, &args.grad_bias},
                     {&args.grad_output, &args.input, &args.scale, &args.bias});
    const std::vector<int64_t> order = channels_second(args.input, args.axis);
    const View x = permuted(args.input, order);
    const View grad_out = permuted(args.grad_output, order);
    const bool is_requested = !args.grad_input.is_null();
    const View gradient = permuted(is_requested ? args.grad_input : args.input, order);
    channel_of_sample_gradients(is_requested ? gradient.tensor() : args.grad_input, args.grad_scale, args.grad_bias,
                                grad_out.tensor(), x.tensor(), args.scale, args.eps);
}
