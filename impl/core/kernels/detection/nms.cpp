// Suppression of boxes that overlap a better one.
#include "detection/boxes.h"
#include "diopi_library/each.h"
#include "diopi_library/suppress.h"

namespace diopigen {

using namespace core;

void entry::nms_rotated_mmcv(const NmsRotatedMmcvArgs& args) { nms_rotated(Each(), Suppress(), args); }

void entry::iou3d_nms3d_mmcv(const Iou3dNms3dMmcvArgs& args) { nms3d(Each(), Suppress(), args); }

void entry::iou3d_nms3d_normal_mmcv(const Iou3dNms3dNormalMmcvArgs& args) { nms3d_normal(Each(), Suppress(), args); }

}  // namespace diopigen
