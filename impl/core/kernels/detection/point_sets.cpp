// Sets of points and quadrilaterals.
#include "detection/point_sets.h"

#include "diopi_library/each.h"

namespace diopigen {

using namespace core;

void entry::points_in_polygons_mmcv(const PointsInPolygonsMmcvArgs& args) { points_in_polygons(Each(), args); }

void entry::min_area_polygons_mmcv(const MinAreaPolygonsMmcvArgs& args) { min_area_polygons(Each(), args); }

void entry::convex_iou_mmcv(const ConvexIouMmcvArgs& args) { convex_iou(Each(), args); }

void entry::convex_giou_mmcv(const ConvexGiouMmcvArgs& args) { convex_giou(Each(), args); }

void entry::diff_iou_rotated_sort_vertices_mmcv(const DiffIouRotatedSortVerticesMmcvArgs& args) {
    sort_vertices(Each(), args);
}

}  // namespace diopigen
