// Layers over windows of feature maps with weights of their own.
#include "detection/local_windows.h"

#include "detection/carafe.h"
#include "detection/correlation.h"
#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::carafe_mmcv(const CarafeMmcvArgs& args) { carafe(Each(), args); }

void entry::carafe_backward_mmcv(const CarafeBackwardMmcvArgs& args) { carafe_backward(Each(), args); }

void entry::carafe_naive_mmcv(const CarafeNaiveMmcvArgs& args) { enlarge(Each(), args); }

void entry::carafe_naive_backward_mmcv(const CarafeNaiveBackwardMmcvArgs& args) { carafe_naive_backward(Each(), args); }

void entry::correlation_mmcv(const CorrelationMmcvArgs& args) { correlation(Each(), args); }

void entry::correlation_backward_mmcv(const CorrelationBackwardMmcvArgs& args) { correlation_backward(Each(), args); }

void entry::psamask_mmcv(const PsamaskMmcvArgs& args) {
    move_masks<true>(Each(), args.output, args.input, args.input.numel, args);
}

void entry::psamask_backward_mmcv(const PsamaskBackwardMmcvArgs& args) {
    move_masks<false>(Each(), args.grad_input, args.grad_output, args.grad_input.numel, args);
}

void entry::upfirdn2d_op_mmcv(const Upfirdn2dOpMmcvArgs& args) { resample(Each(), args); }

}  // namespace diopigen
