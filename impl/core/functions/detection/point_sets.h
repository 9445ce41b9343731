// Sets of nine points and quadrilaterals, for the libraries of all devices. `Each` is as in points.h.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_POINT_SETS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_POINT_SETS_H_

#include "detection.h"
#include "detection/hulls.h"
#include "diopi_core/arguments.h"
#include "diopi_core/dense.h"

namespace diopigen::core {

class Hulls {
  public:
    template <typename Each>
    Hulls(const Each& each, const Tensor& sets) {
        const Input<double> numbers(sets);
        memory_.allocate(sets.shape[0] * static_cast<int64_t>(sizeof(Hull)));
        each(sets.shape[0], 512, MakeHull{static_cast<Hull*>(memory_.data()), numbers.data()});
    }
    const Hull* data() const { return static_cast<const Hull*>(memory_.data()); }

  private:
    Buffer memory_;
};

template <typename Each>
void convex_iou(const Each& each, const entry::ConvexIouMmcvArgs& args) {
    require_apart(args.ious, {&args.pointsets, &args.polygons});
    const Hulls hulls(each, args.pointsets);
    const Input<double> quadrilaterals(args.polygons);
    const Output<double> shares(args.ious);
    each(args.ious.numel, 512,
         ShareOfHulls{shares.data(), hulls.data(), quadrilaterals.data(), args.polygons.shape[0]});
    shares.store();
}

template <typename Each>
void convex_giou(const Each& each, const entry::ConvexGiouMmcvArgs& args) {
    require_apart(args.output, {&args.pointsets, &args.polygons});
    const Hulls hulls(each, args.pointsets);
    const Input<double> quadrilaterals(args.polygons);
    const Output<double> results(args.output);
    each(args.output.shape[0], 1024, GeneralizedShare{results.data(), hulls.data(), quadrilaterals.data()});
    results.store();
}

template <typename Each>
void min_area_polygons(const Each& each, const entry::MinAreaPolygonsMmcvArgs& args) {
    require_apart(args.polygons, {&args.pointsets});
    const Hulls hulls(each, args.pointsets);
    const Output<double> rectangles(args.polygons);
    each(args.polygons.shape[0], 1024, LeastRectangle{rectangles.data(), hulls.data()});
    rectangles.store();
}

template <typename Each>
void points_in_polygons(const Each& each, const entry::PointsInPolygonsMmcvArgs& args) {
    require_apart(args.output, {&args.points, &args.polygons});
    const Input<double> points(args.points);
    const Input<double> quadrilaterals(args.polygons);
    const Output<double> found(args.output);
    each(args.output.numel, 16, FindInside{found.data(), points.data(), quadrilaterals.data(), args.polygons.shape[0]});
    found.store();
}

template <typename Each>
void sort_vertices(const Each& each, const entry::DiffIouRotatedSortVerticesMmcvArgs& args) {
    const Input<double> vertices(args.vertices);
    const Input<Bool> mask(args.mask);
    const Input<Int32> counts(args.num_valid);
    const Tensor result =
        new_tensor(args.ctx, "out", {args.num_valid.shape[0], args.num_valid.shape[1], SortVertices::kResults},
                   Dtype::kInt32, args.vertices);
    const Output<Int32> order(result);
    each(args.num_valid.numel, 256,
         SortVertices{order.data(), vertices.data(), mask.data(), counts.data(), args.vertices.shape[2]});
    order.store();
    *args.out = result.handle;
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_POINT_SETS_H_
