// Points in the cells of a grid.
#include "detection/voxels.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::hard_voxelize_mmcv(const HardVoxelizeMmcvArgs& args) { hard_voxelize(Each(), args); }

void entry::dynamic_voxelize_mmcv(const DynamicVoxelizeMmcvArgs& args) { dynamic_voxelize(Each(), args); }

void entry::dynamic_point_to_voxel_mmcv(const DynamicPointToVoxelMmcvArgs& args) { reduce_by_voxel(Each(), args); }

void entry::dynamic_point_to_voxel_backward_mmcv(const DynamicPointToVoxelBackwardMmcvArgs& args) {
    reduce_by_voxel_backward(Each(), args);
}

}  // namespace diopigen
