// The focal losses of detectors.
#include "detection/focal_losses.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::sigmoid_focal_loss_mmcv(const SigmoidFocalLossMmcvArgs& args) {
    sigmoid_focal<SigmoidFocal<FocalLoss>>(Each(), args.output, args);
}

void entry::sigmoid_focal_loss_backward_mmcv(const SigmoidFocalLossBackwardMmcvArgs& args) {
    sigmoid_focal<SigmoidFocal<FocalSlope>>(Each(), args.grad_input, args);
}

void entry::softmax_focal_loss_mmcv(const SoftmaxFocalLossMmcvArgs& args) {
    softmax_focal<SoftmaxFocalLoss>(Each(), args.output, args);
}

void entry::softmax_focal_loss_backward_mmcv(const SoftmaxFocalLossBackwardMmcvArgs& args) {
    softmax_focal<SoftmaxFocalSlope>(Each(), args.grad_input, args);
}

}  // namespace diopigen
