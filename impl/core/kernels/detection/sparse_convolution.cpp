// Sparse convolution and pooling, and rotated copies of filters.
#include "detection/sparse_convolution.h"

#include "diopi_library/each.h"

namespace diopi {

using namespace core;

void kernels::indice_maxpool_mmcv(const IndiceMaxpoolMmcvArgs& args) { pool_rows(Each(), args); }

void kernels::indice_maxpool_backward_mmcv(const IndiceMaxpoolBackwardMmcvArgs& args) {
    pool_rows_backward(Each(), args);
}

void kernels::indice_conv_mmcv(const IndiceConvMmcvArgs& args) { convolve_rows(Each(), args, Tensor{}); }

void kernels::indice_conv_backward_mmcv(const IndiceConvBackwardMmcvArgs& args) {
    convolve_rows_backward(Each(), args);
}

void kernels::fused_indice_conv_batchnorm_mmcv(const FusedIndiceConvBatchnormMmcvArgs& args) {
    convolve_rows(Each(), args, args.bias);
}

void kernels::active_rotated_filter_mmcv(const ActiveRotatedFilterMmcvArgs& args) { rotate_filters(Each(), args); }

void kernels::active_rotated_filter_backward_mmcv(const ActiveRotatedFilterBackwardMmcvArgs& args) {
    rotate_filters_backward(Each(), args);
}

}  // namespace diopi
