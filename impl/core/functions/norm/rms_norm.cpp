// RMSNorm and its gradient: root mean squares over the trailing dimensions, in double.
#include "norm.h"
#include "norm_kernels.h"
#include "trailing.h"

using namespace diopigen::core;

void diopigen::entry::rms_norm(const RMSNormArgs& args) {
    require_floating({&args.inv_rms});
    require_separate({&args.out, &args.inv_rms}, {&args.weight, &args.bias});
    require_separate({&args.inv_rms}, {&args.input});
    normalise_rows_by_rms(args.out, args.inv_rms, args.input, args.weight, args.bias,
                          trailing(args.input, args.normalized_shape), args.eps);
}

void diopigen::entry::rms_norm_backward(const RMSNormBackwardArgs& args) {
    require_floating({&args.inv_rms});
    require_separate({&args.grad_input, &args.grad_weight, &args.grad_bias},
                     {&args.grad_output, &args.input, &args.weight, &args.bias, &args.inv_rms});
    rms_row_gradients(args.grad_input, args.grad_weight, args.grad_bias, args.grad_output, args.input, args.weight,
                      args.inv_rms, trailing(args.input, args.normalized_shape));
}
