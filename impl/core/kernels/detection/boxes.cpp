// Overlaps of boxes.
#include "detection/boxes.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::bbox_overlaps_mmcv(const BboxOverlapsMmcvArgs& args) { bbox_overlaps(Each(), args); }

void entry::box_iou_rotated_mmcv(const BoxIouRotatedMmcvArgs& args) {
    overlaps_of_quadrilaterals(Each(), args, BoxForm::kRotated);
}

void entry::box_iou_quadri_mmcv(const BoxIouQuadriMmcvArgs& args) {
    overlaps_of_quadrilaterals(Each(), args, BoxForm::kCorners);
}

void entry::iou3d_boxes_overlap_bev_mmcv(const Iou3dBoxesOverlapBevMmcvArgs& args) { boxes_overlap_bev(Each(), args); }

}  // namespace diopigen
