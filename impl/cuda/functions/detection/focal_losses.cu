// The focal losses of detectors. Names are not brought into the global namespace: the functions of numbers have those
// of CUDA's own.
#include "detection/focal_losses.h"
#include "each.h"

namespace diopi {

void kernels::sigmoid_focal_loss_mmcv(const SigmoidFocalLossMmcvArgs& args) {
    core::sigmoid_focal<core::SigmoidFocalLoss>(cuda::Each(), args.output, args);
}

void kernels::sigmoid_focal_loss_backward_mmcv(const SigmoidFocalLossBackwardMmcvArgs& args) {
    core::sigmoid_focal<core::SigmoidFocalSlope>(cuda::Each(), args.grad_input, args);
}

void kernels::softmax_focal_loss_mmcv(const SoftmaxFocalLossMmcvArgs& args) {
    core::softmax_focal<core::SoftmaxFocalLoss>(cuda::Each(), args.output, args);
}

void kernels::softmax_focal_loss_backward_mmcv(const SoftmaxFocalLossBackwardMmcvArgs& args) {
    core::softmax_focal<core::SoftmaxFocalSlope>(cuda::Each(), args.grad_input, args);
}

}  // namespace diopi
