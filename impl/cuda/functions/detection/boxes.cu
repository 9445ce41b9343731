// Overlaps of boxes: a thread for each pair.
#include "detection/boxes.h"
#include "each.h"

// Not in the global namespace: functions of numbers have the names of CUDA's own.
namespace diopi {

using namespace core;
using cuda::Each;

void diopi::kernels::bbox_overlaps_mmcv(const BboxOverlapsMmcvArgs& args) { bbox_overlaps(Each(), args); }

void diopi::kernels::box_iou_rotated_mmcv(const BoxIouRotatedMmcvArgs& args) {
    overlaps_of_quadrilaterals(Each(), args, BoxForm::kRotated);
}

void diopi::kernels::box_iou_quadri_mmcv(const BoxIouQuadriMmcvArgs& args) {
    overlaps_of_quadrilaterals(Each(), args, BoxForm::kCorners);
}

void diopi::kernels::iou3d_boxes_overlap_bev_mmcv(const Iou3dBoxesOverlapBevMmcvArgs& args) {
    boxes_overlap_bev(Each(), args);
}

}  // namespace diopi
