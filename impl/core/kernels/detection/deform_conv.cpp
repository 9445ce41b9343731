// Deformable convolution and its gradients.
#include "detection/deform_conv.h"

#include "diopi_library/each.h"

namespace diopi {

using namespace core;

void kernels::deform_conv_mmcv(const DeformConvMmcvArgs& args) { deform_conv(Each(), args); }

void kernels::deform_conv_backward_input_mmcv(const DeformConvBackwardInputMmcvArgs& args) {
    deform_conv_backward_input(Each(), args);
}

void kernels::deform_conv_backward_parameters_mmcv(const DeformConvBackwardParametersMmcvArgs& args) {
    deform_conv_backward_filters(Each(), args);
}

void kernels::modulated_deform_conv_mmcv(const ModulatedDeformConvMmcvArgs& args) {
    modulated_deform_conv(Each(), args);
}

void kernels::modulated_deform_conv_backward_mmcv(const ModulatedDeformConvBackwardMmcvArgs& args) {
    modulated_deform_conv_backward(Each(), args);
}

}  // namespace diopi
