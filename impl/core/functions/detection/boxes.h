// Overlaps of boxes, for the libraries of all devices. `Each` is as in points.h. `Suppress` is how a library goes down
// a list: suppress(retained, count, overlaps) writes the numbers below `count` for which overlaps(i, k) holds for none
// of those before that stay, in order, and behind `count` numbers how many they are.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_BOXES_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_BOXES_H_

#include "detection.h"
#include "detection/detection_kernels.h"
#include "detection/polygons.h"
#include "diopi_core/arguments.h"
#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "indexing/positions.h"

namespace diopigen::core {

// ---- Boxes along the axes. ----

// An owner for each pair.
struct ShareOfBoxes {
    double* to;
    const double* first;
    const double* second;
    int64_t others;  // 0: pairs of one number
    double offset;
    bool of_first;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const double* a = first + 4 * (others == 0 ? at : at / others);
        const double* b = second + 4 * (others == 0 ? at : at % others);
        const double common = common_area(a, b, offset);
        const double own = box_area(a, offset);
        const double base = of_first ? own : own + box_area(b, offset) - common;
        to[at] = common / (base < offset ? offset : base);
    }
};

template <typename Each>
void bbox_overlaps(const Each& each, const entry::BboxOverlapsMmcvArgs& args) {
    require_apart(args.ious, {&args.bboxes1, &args.bboxes2});
    const Input<double> first(args.bboxes1);
    const Input<double> second(args.bboxes2);
    const Output<double> shares(args.ious);
    each(args.ious.numel, 16,
         ShareOfBoxes{shares.data(), first.data(), second.data(), args.aligned ? 0 : args.bboxes2.shape[0],
                      static_cast<double>(args.offset), args.mode == 1});
    shares.store();
}

// ---- Boxes at an angle, and quadrilaterals. ----

struct Quadrilateral {
    Spot corners[4];
    double area;
};

// How the numbers of a box give a quadrilateral, seen from above where there is a third dimension.
enum class BoxForm { kRotated, kUpright, kCorners };

struct MakeQuadrilateral {
    Quadrilateral* to;
    const double* boxes;
    int64_t stride;
    BoxForm form;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const double* box = boxes + stride * at;
        Quadrilateral created{};
        if (form == BoxForm::kCorners) {
            for (int i = 0; i < 4; ++i) {
                created.corners[i] = {box[2 * i], box[2 * i + 1]};
            }
            created.area = signed_area(created.corners, 4);
            created.area = created.area < 0 ? -created.area : created.area;
        } else {
            const bool is_upright = form == BoxForm::kUpright;
            const double width = box[is_upright ? 3 : 2];
            const double height = box[is_upright ? 4 : 3];
            const double angle = box[is_upright ? 6 : 4];
            const double cosine = numeric::cos(angle) / 2;
            const double sine = numeric::sin(angle) / 2;
            for (int i = 0; i < 4; ++i) {
                const double along = i == 0 || i == 3 ? -width : width;
                const double across = i < 2 ? -height : height;
                created.corners[i] = {box[0] + along * cosine - across * sine, box[1] + along * sine + across * cosine};
            }
            created.area = width * height;
        }
        to[at] = created;
    }
};

class Quadrilaterals {
  public:
    template <typename Each>
    Quadrilaterals(const Each& each, const Tensor& boxes, BoxForm form) {
        const Input<double> numbers(boxes);
        memory_.allocate(boxes.shape[0] * static_cast<int64_t>(sizeof(Quadrilateral)));
        each(boxes.shape[0], 64,
             MakeQuadrilateral{static_cast<Quadrilateral*>(memory_.data()), numbers.data(), boxes.shape[1], form});
    }
    const Quadrilateral* data() const { return static_cast<const Quadrilateral*>(memory_.data()); }

  private:
    Buffer memory_;
};

DIOPI_HOST_DEVICE inline double shared_area(const Quadrilateral& a, const Quadrilateral& b) {
    Polygon polygon;
    for (const Spot& corner : a.corners) {
        polygon.add(corner);
    }
    return shared_area(polygon, b.corners, 4);
}

// Of the union, or of the first one; 0 where one has nearly no area.
DIOPI_HOST_DEVICE inline double share_of(const Quadrilateral& a, const Quadrilateral& b, bool of_first) {
    constexpr double kNone = 1e-14;
    if (a.area < kNone || b.area < kNone) {
        return 0;
    }
    const double common = shared_area(a, b);
    return common / (of_first ? a.area : a.area + b.area - common);
}

struct ShareOfQuadrilaterals {
    double* to;
    const Quadrilateral* first;
    const Quadrilateral* second;
    int64_t others;  // 0: pairs of one number
    bool of_first;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        to[at] = share_of(first[others == 0 ? at : at / others], second[others == 0 ? at : at % others], of_first);
    }
};

template <typename Each, typename Args>
void overlaps_of_quadrilaterals(const Each& each, const Args& args, BoxForm form) {
    require_apart(args.ious, {&args.bboxes1, &args.bboxes2});
    const Quadrilaterals first(each, args.bboxes1, form);
    const Quadrilaterals second(each, args.bboxes2, form);
    const Output<double> shares(args.ious);
    each(args.ious.numel, 256,
         ShareOfQuadrilaterals{shares.data(), first.data(), second.data(), args.aligned ? 0 : args.bboxes2.shape[0],
                               args.mode == 1});
    shares.store();
}

struct SharedAreas {
    double* to;
    const Quadrilateral* first;
    const Quadrilateral* second;
    int64_t others;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        to[at] = shared_area(first[at / others], second[at % others]);
    }
};

template <typename Each>
void boxes_overlap_bev(const Each& each, const entry::Iou3dBoxesOverlapBevMmcvArgs& args) {
    require_apart(args.ans_overlap, {&args.boxes_a, &args.boxes_b});
    const Quadrilaterals first(each, args.boxes_a, BoxForm::kUpright);
    const Quadrilaterals second(each, args.boxes_b, BoxForm::kUpright);
    const Output<double> areas(args.ans_overlap);
    each(args.ans_overlap.numel, 256, SharedAreas{areas.data(), first.data(), second.data(), args.boxes_b.shape[0]});
    areas.store();
}

// ---- Suppression. ----

// Rotated boxes from the highest score down, whatever their labels.
struct OverlapRotated {
    const Quadrilateral* boxes;
    double threshold;

    DIOPI_HOST_DEVICE bool operator()(int64_t i, int64_t k) const {
        return share_of(boxes[i], boxes[k], false) > threshold;
    }
};

// Upright boxes seen from above; the area that two cover counts as at least this.
constexpr double kLeastCovered = 1e-8;

struct OverlapUpright {
    const Quadrilateral* boxes;
    double threshold;

    DIOPI_HOST_DEVICE bool operator()(int64_t i, int64_t k) const {
        const double common = shared_area(boxes[i], boxes[k]);
        const double covered = boxes[i].area + boxes[k].area - common;
        return common / (covered < kLeastCovered ? kLeastCovered : covered) > threshold;
    }
};

// The same as if no box were turned.
struct OverlapUnturned {
    const double* boxes;  // (x, y, z, dx, dy, dz, heading)
    double threshold;

    DIOPI_HOST_DEVICE bool operator()(int64_t i, int64_t k) const {
        const double* a = boxes + 7 * i;
        const double* b = boxes + 7 * k;
        const double common = side(a[0], a[3], b[0], b[3]) * side(a[1], a[4], b[1], b[4]);
        const double covered = a[3] * a[4] + b[3] * b[4] - common;
        return common / (covered < kLeastCovered ? kLeastCovered : covered) > threshold;
    }

  private:
    DIOPI_HOST_DEVICE static double side(double a, double a_size, double b, double b_size) {
        const double low = numeric_max(a - a_size / 2, b - b_size / 2);
        const double high = -numeric_max(-a - a_size / 2, -b - b_size / 2);
        return numeric_max(high - low, 0);
    }
    DIOPI_HOST_DEVICE static double numeric_max(double a, double b) { return a < b ? b : a; }
};

struct PickRows {
    int64_t* rows;
    const Int64* from;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const { rows[at] = from[rows[at]].value; }
};

inline Buffer room_for_rows(int64_t count) {
    Buffer rows;
    rows.allocate((count + 1) * static_cast<int64_t>(sizeof(int64_t)));
    return rows;
}

template <typename Each, typename Suppress>
void nms_rotated(const Each& each, const Suppress& suppress, const entry::NmsRotatedMmcvArgs& args) {
    const int64_t count = args.dets.shape[0];
    const Positions order(args.order, count);
    const Quadrilaterals boxes(each, args.dets_sorted, BoxForm::kRotated);
    const Buffer rows = room_for_rows(count);
    auto* const retained = static_cast<int64_t*>(rows.data());
    suppress(retained, count, OverlapRotated{boxes.data(), static_cast<double>(args.iou_threshold)});
    const int64_t found = suppress.number(retained + count);
    each(found, 1, PickRows{retained, order.data()});
    *args.out = rows_as_tensor(args.ctx, rows, found, args.dets);
}

struct StoreRetained {
    Int64* keep;
    Int64* number;
    const int64_t* retained;
    int64_t count;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        if (at == count) {
            number[0] = Int64(retained[count]);
        } else if (at < retained[count]) {
            keep[at] = Int64(retained[at]);
        }
    }
};

template <typename Each, typename Suppress, typename Args, typename Overlaps>
void keep_upright(const Each& each, const Suppress& suppress, const Args& args, const Overlaps& overlaps) {
    require_separate({&args.keep, &args.keep_num}, {&args.boxes});
    const int64_t count = args.boxes.shape[0];
    const Buffer rows = room_for_rows(count);
    auto* const retained = static_cast<int64_t*>(rows.data());
    suppress(retained, count, overlaps);
    const Changed keep(args.keep, Dtype::kInt64);
    const Output<Int64> number(args.keep_num);
    each(count + 1, 1, StoreRetained{keep.as<Int64>(), number.data(), retained, count});
    keep.store();
    number.store();
}

template <typename Each, typename Suppress>
void nms3d(const Each& each, const Suppress& suppress, const entry::Iou3dNms3dMmcvArgs& args) {
    const Quadrilaterals boxes(each, args.boxes, BoxForm::kUpright);
    keep_upright(each, suppress, args, OverlapUpright{boxes.data(), static_cast<double>(args.nms_overlap_thresh)});
}

template <typename Each, typename Suppress>
void nms3d_normal(const Each& each, const Suppress& suppress, const entry::Iou3dNms3dNormalMmcvArgs& args) {
    const Input<double> boxes(args.boxes);
    keep_upright(each, suppress, args, OverlapUnturned{boxes.data(), static_cast<double>(args.nms_overlap_thresh)});
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_BOXES_H_
