// Points in the cells of a grid.
#include "detection/voxels.h"
#include "each.h"

using namespace diopi::core;
using diopi::cuda::Each;

void diopi::kernels::hard_voxelize_mmcv(const HardVoxelizeMmcvArgs& args) { hard_voxelize(Each(), args); }

void diopi::kernels::dynamic_voxelize_mmcv(const DynamicVoxelizeMmcvArgs& args) { dynamic_voxelize(Each(), args); }

void diopi::kernels::dynamic_point_to_voxel_mmcv(const DynamicPointToVoxelMmcvArgs& args) {
    reduce_by_voxel(Each(), args);
}

void diopi::kernels::dynamic_point_to_voxel_backward_mmcv(const DynamicPointToVoxelBackwardMmcvArgs& args) {
    reduce_by_voxel_backward(Each(), args);
}
