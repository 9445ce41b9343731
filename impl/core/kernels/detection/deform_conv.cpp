// Deformable convolution and its gradients.
#include "detection/deform_conv.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::deform_conv_mmcv(const DeformConvMmcvArgs& args) { deform_conv(Each(), args); }

void entry::deform_conv_backward_input_mmcv(const DeformConvBackwardInputMmcvArgs& args) {
    deform_conv_backward_input(Each(), args);
}

void entry::deform_conv_backward_parameters_mmcv(const DeformConvBackwardParametersMmcvArgs& args) {
    deform_conv_backward_filters(Each(), args);
}

void entry::modulated_deform_conv_mmcv(const ModulatedDeformConvMmcvArgs& args) { modulated_deform_conv(Each(), args); }

void entry::modulated_deform_conv_backward_mmcv(const ModulatedDeformConvBackwardMmcvArgs& args) {
    modulated_deform_conv_backward(Each(), args);
}

}  // namespace diopigen
