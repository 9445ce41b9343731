// Points in the cells of a grid.
#include "detection/voxels.h"

#include "diopi_library/each.h"

namespace diopi {

using namespace core;

void kernels::hard_voxelize_mmcv(const HardVoxelizeMmcvArgs& args) { hard_voxelize(Each(), args); }

void kernels::dynamic_voxelize_mmcv(const DynamicVoxelizeMmcvArgs& args) { dynamic_voxelize(Each(), args); }

void kernels::dynamic_point_to_voxel_mmcv(const DynamicPointToVoxelMmcvArgs& args) { reduce_by_voxel(Each(), args); }

void kernels::dynamic_point_to_voxel_backward_mmcv(const DynamicPointToVoxelBackwardMmcvArgs& args) {
    reduce_by_voxel_backward(Each(), args);
}

}  // namespace diopi
