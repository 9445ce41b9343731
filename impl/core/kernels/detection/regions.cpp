// Pooling of regions.
#include "detection/regions.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::roi_align_mmcv(const RoiAlignMmcvArgs& args) { align_regions(Each(), args); }

void entry::roi_align_backward_mmcv(const RoiAlignBackwardMmcvArgs& args) { align_regions_backward(Each(), args); }

void entry::roi_align_rotated_mmcv(const RoiAlignRotatedMmcvArgs& args) { roi_align_rotated(Each(), args); }

void entry::roi_align_rotated_backward_mmcv(const RoiAlignRotatedBackwardMmcvArgs& args) {
    roi_align_rotated_backward(Each(), args);
}

void entry::riroi_align_rotated_mmcv(const RiroiAlignRotatedMmcvArgs& args) { riroi_align_rotated(Each(), args); }

void entry::riroi_align_rotated_backward_mmcv(const RiroiAlignRotatedBackwardMmcvArgs& args) {
    riroi_align_rotated_backward(Each(), args);
}

void entry::deform_roi_pool_mmcv(const DeformRoiPoolMmcvArgs& args) { deform_roi_pool(Each(), args); }

void entry::deform_roi_pool_backward_mmcv(const DeformRoiPoolBackwardMmcvArgs& args) {
    deform_roi_pool_backward(Each(), args);
}

void entry::border_align_mmcv(const BorderAlignMmcvArgs& args) { border_align(Each(), args); }

void entry::border_align_backward_mmcv(const BorderAlignBackwardMmcvArgs& args) { border_align_backward(Each(), args); }

void entry::rotated_feature_align_mmcv(const RotatedFeatureAlignMmcvArgs& args) { rotated_feature_align(Each(), args); }

void entry::rotated_feature_align_backward_mmcv(const RotatedFeatureAlignBackwardMmcvArgs& args) {
    rotated_feature_align_backward(Each(), args);
}

void entry::roi_pool_mmcv(const RoiPoolMmcvArgs& args) { roi_pool(Each(), args); }

void entry::roi_pool_backward_mmcv(const RoiPoolBackwardMmcvArgs& args) { roi_pool_backward(Each(), args); }

void entry::prroi_pool_mmcv(const PrroiPoolMmcvArgs& args) { prroi_pool(Each(), args); }

void entry::prroi_poolbackward_mmcv(const PrroiPoolbackwardMmcvArgs& args) { prroi_pool_backward(Each(), args); }

void entry::prroi_pool_coor_backward_mmcv(const PrroiPoolCoorBackwardMmcvArgs& args) {
    prroi_pool_coor_backward(Each(), args);
}

}  // namespace diopigen
