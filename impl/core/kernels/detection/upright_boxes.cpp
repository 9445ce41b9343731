// Points in upright boxes.
#include "detection/upright_boxes.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::points_in_boxes_part_mmcv(const PointsInBoxesPartMmcvArgs& args) {
    find_boxes<FindFirstBox>(Each(), args, args.box_idx_of_points.numel, 16 * args.boxes.shape[1]);
}

void entry::points_in_boxes_all_mmcv(const PointsInBoxesAllMmcvArgs& args) {
    find_boxes<FindAllBoxes>(Each(), args, args.box_idx_of_points.numel, 16);
}

void entry::roiaware_pool3d_mmcv(const RoiawarePool3dMmcvArgs& args) { roiaware_pool3d(Each(), args); }

void entry::roiaware_pool3d_backward_mmcv(const RoiawarePool3dBackwardMmcvArgs& args) {
    roiaware_pool3d_backward(Each(), args);
}

void entry::roipoint_pool3d_mmcv(const RoipointPool3dMmcvArgs& args) { roipoint_pool3d(Each(), args); }

}  // namespace diopigen
