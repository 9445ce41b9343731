// GroupNorm and its gradient, with statistics in double.
#include "group_norm.h"

#include "norm.h"
#include "norm_kernels.h"

using namespace diopigen::core;

void diopigen::entry::group_norm(const GroupNormArgs& args) {
    require_factor_dtypes({&args.weight, &args.bias}, args.input);
    require_separate({&args.out, &args.save_mean, &args.save_invstd}, {&args.weight, &args.bias});
    require_separate({&args.save_mean, &args.save_invstd}, {&args.input});
    normalise_groups(args.out, args.save_mean, args.save_invstd, args.input, args.weight, args.bias,
                     Groups(Channels(args.input), args.num_groups), args.eps);
}

void diopigen::entry::group_norm_backward(const GroupNormBackwardArgs& args) {
    require_factor_dtypes({&args.weight, &args.grad_weight, &args.grad_bias}, args.input);
    require_separate({&args.grad_input, &args.grad_weight, &args.grad_bias},
                     {&args.grad_output, &args.input, &args.weight, &args.mean, &args.rstd});
    group_gradients(args.grad_input, args.grad_weight, args.grad_bias, args.grad_output, args.input, args.weight,
                    args.mean, args.rstd, Groups(Channels(args.input), args.num_groups));
}
