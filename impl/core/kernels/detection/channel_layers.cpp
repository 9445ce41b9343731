// Layers of detectors and generators over channels.
#include "detection/channel_layers.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::fused_bias_leakyrelu_mmcv(const FusedBiasLeakyreluMmcvArgs& args) { bias_leaky_relu(Each(), args); }

void entry::sync_bn_mean_mmcv(const SyncBnMeanMmcvArgs& args) { channel_mean(Each(), args); }

void entry::sync_bn_var_mmcv(const SyncBnVarMmcvArgs& args) { channel_variance(Each(), args); }

void entry::sync_bn_output_mmcv(const SyncBnOutputMmcvArgs& args) { normalize_channels(Each(), args); }

void entry::sync_bn_backward_param_mmcv(const SyncBnBackwardParamMmcvArgs& args) { parameter_gradients(Each(), args); }

void entry::sync_bn_backward_data_mmcv(const SyncBnBackwardDataMmcvArgs& args) { data_gradients(Each(), args); }

void entry::tin_shift_mmcv(const TinShiftMmcvArgs& args) {
    shift_along_time(Each(), args.output, args.input, args.shift);
}

void entry::tin_shift_backward_mmcv(const TinShiftBackwardMmcvArgs& args) {
    shift_along_time(Each(), args.grad_input, args.grad_output, args.shift);
}

}  // namespace diopigen
