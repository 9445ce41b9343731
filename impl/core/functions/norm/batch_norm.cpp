// BatchNorm and its gradient: statistics per channel, in double.
#include "norm.h"
#include "norm_kernels.h"
#include "statistics.h"

using namespace diopigen::core;

void diopigen::entry::batch_norm(const BatchNormArgs& args) {
    require_floating({&args.save_mean, &args.save_invstd});
    require_separate({&args.out, &args.save_mean, &args.save_invstd, &args.running_mean, &args.running_var},
                     {&args.weight, &args.bias});
    require_separate({&args.save_mean, &args.save_invstd, &args.running_mean, &args.running_var}, {&args.input});
    normalise_channels(args.out, args.save_mean, args.save_invstd, args.input, args.weight, args.bias,
                       args.running_mean, args.running_var, Channels(args.input), args.training, args.momentum,
                       args.eps);
}

void diopigen::entry::batch_norm_backward(const BatchNormBackwardArgs& args) {
    const Tensor& mean = args.training ? args.save_mean : args.running_mean;
    const Tensor& deviation = args.training ? args.save_invstd : args.running_var;
    require_floating({&mean, &deviation});
    require_separate({&args.grad_input, &args.grad_weight, &args.grad_bias},
                     {&args.grad_output, &args.input, &args.weight, &mean, &deviation});
    channel_gradients(args.grad_input, args.grad_weight, args.grad_bias, args.grad_output, args.input, args.weight,
                      mean, deviation, Channels(args.input), args.training, args.eps);
}
