// Points in upright boxes: a thread for each owner.
#include "detection/upright_boxes.h"
#include "each.h"

// Not in the global namespace: functions of numbers have the names of CUDA's own.
namespace diopi {

using namespace core;
using cuda::Each;

void diopi::kernels::points_in_boxes_part_mmcv(const PointsInBoxesPartMmcvArgs& args) {
    find_boxes<FindFirstBox>(Each(), args, args.box_idx_of_points.numel, 16 * args.boxes.shape[1]);
}

void diopi::kernels::points_in_boxes_all_mmcv(const PointsInBoxesAllMmcvArgs& args) {
    find_boxes<FindAllBoxes>(Each(), args, args.box_idx_of_points.numel, 16);
}

void diopi::kernels::roiaware_pool3d_mmcv(const RoiawarePool3dMmcvArgs& args) { roiaware_pool3d(Each(), args); }

void diopi::kernels::roiaware_pool3d_backward_mmcv(const RoiawarePool3dBackwardMmcvArgs& args) {
    roiaware_pool3d_backward(Each(), args);
}

void diopi::kernels::roipoint_pool3d_mmcv(const RoipointPool3dMmcvArgs& args) { roipoint_pool3d(Each(), args); }

}  // namespace diopi
