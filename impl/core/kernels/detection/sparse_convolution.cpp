// Sparse convolution and pooling, and rotated copies of filters.
#include "detection/sparse_convolution.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::indice_maxpool_mmcv(const IndiceMaxpoolMmcvArgs& args) { pool_rows(Each(), args); }

void entry::indice_maxpool_backward_mmcv(const IndiceMaxpoolBackwardMmcvArgs& args) {
    pool_rows_backward(Each(), args);
}

void entry::indice_conv_mmcv(const IndiceConvMmcvArgs& args) { convolve_rows(Each(), args, Tensor{}); }

void entry::indice_conv_backward_mmcv(const IndiceConvBackwardMmcvArgs& args) { convolve_rows_backward(Each(), args); }

void entry::fused_indice_conv_batchnorm_mmcv(const FusedIndiceConvBatchnormMmcvArgs& args) {
    convolve_rows(Each(), args, args.bias);
}

void entry::active_rotated_filter_mmcv(const ActiveRotatedFilterMmcvArgs& args) { rotate_filters(Each(), args); }

void entry::active_rotated_filter_backward_mmcv(const ActiveRotatedFilterBackwardMmcvArgs& args) {
    rotate_filters_backward(Each(), args);
}

}  // namespace diopigen
