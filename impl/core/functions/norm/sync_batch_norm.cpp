// The pieces of batch normalisation over several devices (torch.nn.SyncBatchNorm): statistics of one part of a batch,
// their union, and the gradient from sums that were joined. All in double.
#include "norm.h"
#include "norm_kernels.h"
#include "statistics.h"

using namespace diopigen::core;

void diopigen::entry::batch_norm_stats(const BatchNormStatsArgs& args) {
    require_floating({&args.mean, &args.invstd});
    require_separate({&args.mean, &args.invstd}, {&args.input});
    channel_statistics(args.mean, args.invstd, args.input, Channels(args.input), args.eps);
}

void diopigen::entry::batch_norm_gather_stats_with_counts(const BatchNormGatherStatsWithCountsArgs& args) {
    require_floating({&args.mean, &args.invstd, &args.mean_all, &args.invstd_all});
    require_separate({&args.mean, &args.invstd, &args.running_mean, &args.running_var},
                     {&args.input, &args.mean_all, &args.invstd_all, &args.counts});
    join_statistics(args.mean, args.invstd, args.mean_all, args.invstd_all, args.running_mean, args.running_var,
                    args.counts, Channels(args.input), args.momentum, args.eps);
}

void diopigen::entry::batch_norm_elemt(const BatchNormElemtArgs& args) {
    require_floating({&args.mean, &args.invstd});
    require_separate({&args.out}, {&args.weight, &args.bias, &args.mean, &args.invstd});
    scale_channels(args.out, args.input, args.weight, args.bias, args.mean, args.invstd, Channels(args.input));
}

void diopigen::entry::batch_norm_backward_reduce(const BatchNormBackwardReduceArgs& args) {
    require_floating({&args.sum_dy, &args.sum_dy_xmu, &args.mean, &args.invstd});
    require_separate({&args.sum_dy, &args.sum_dy_xmu, &args.grad_weight, &args.grad_bias},
                     {&args.grad_out, &args.input, &args.mean, &args.invstd, &args.weight});
    channel_sums(args.sum_dy, args.sum_dy_xmu, args.grad_weight, args.grad_bias, args.grad_out, args.input, args.mean,
                 args.invstd, Channels(args.input), args.input_g, args.weight_g, args.bias_g);
}

void diopigen::entry::batch_norm_backward_elemt(const BatchNormBackwardElemtArgs& args) {
    require_floating({&args.mean, &args.invstd, &args.sum_dy, &args.sum_dy_xmu});
    require_separate({&args.grad_input},
                     {&args.mean, &args.invstd, &args.weight, &args.sum_dy, &args.sum_dy_xmu, &args.count});
    gradients_from_sums(args.grad_input, args.grad_out, args.input, args.mean, args.invstd, args.weight, args.sum_dy,
                        args.sum_dy_xmu, args.count, Channels(args.input));
}
