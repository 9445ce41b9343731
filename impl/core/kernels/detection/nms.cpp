// Suppression of boxes that overlap a better one.
#include "detection/boxes.h"
#include "diopi_library/each.h"
#include "diopi_library/suppress.h"

namespace diopi {

using namespace core;

void kernels::nms_rotated_mmcv(const NmsRotatedMmcvArgs& args) { nms_rotated(Each(), Suppress(), args); }

void kernels::iou3d_nms3d_mmcv(const Iou3dNms3dMmcvArgs& args) { nms3d(Each(), Suppress(), args); }

void kernels::iou3d_nms3d_normal_mmcv(const Iou3dNms3dNormalMmcvArgs& args) { nms3d_normal(Each(), Suppress(), args); }

}  // namespace diopi
