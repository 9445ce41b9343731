// Sets of points and quadrilaterals: a thread for each owner.
#include "detection/point_sets.h"
#include "each.h"

// Not in the global namespace: functions of numbers have the names of CUDA's own.
namespace diopi {

using namespace core;
using cuda::Each;

void diopi::kernels::points_in_polygons_mmcv(const PointsInPolygonsMmcvArgs& args) { points_in_polygons(Each(), args); }

void diopi::kernels::min_area_polygons_mmcv(const MinAreaPolygonsMmcvArgs& args) { min_area_polygons(Each(), args); }

void diopi::kernels::convex_iou_mmcv(const ConvexIouMmcvArgs& args) { convex_iou(Each(), args); }

void diopi::kernels::convex_giou_mmcv(const ConvexGiouMmcvArgs& args) { convex_giou(Each(), args); }

void diopi::kernels::diff_iou_rotated_sort_vertices_mmcv(const DiffIouRotatedSortVerticesMmcvArgs& args) {
    sort_vertices(Each(), args);
}

}  // namespace diopi
