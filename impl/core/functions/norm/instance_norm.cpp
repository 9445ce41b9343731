// InstanceNorm and its gradient: each channel of each sample is normalised by itself. It is group normalisation with
// one channel to a group, where all dimensions between the samples' and `axis` count channels.
#include "norm.h"
#include "norm_kernels.h"
#include "statistics.h"

using namespace diopigen::core;

void diopigen::entry::instance_norm(const InstanceNormArgs& args) {
    require_separate({&args.output}, {&args.scale, &args.bias});
    normalise_channels_of_samples(args.output, args.input, args.scale, args.bias, Channels(args.input, args.axis),
                                  args.eps);
}

void diopigen::entry::instance_norm_backward(const InstanceNormBackwardArgs& args) {
    require_separate({&args.grad_input, &args.grad_scale, &args.grad_bias},
                     {&args.grad_output, &args.input, &args.scale, &args.bias});
    channel_of_sample_gradients(args.grad_input, args.grad_scale, args.grad_bias, args.grad_output, args.input,
                                args.scale, Channels(args.input, args.axis), args.eps);
}
