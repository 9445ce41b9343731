// Sets of points, their convex hulls, and quadrilaterals, for the libraries of all devices: each object is called with
// the number of one owner, as in point_features.h.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_HULLS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_HULLS_H_

#include <cstdint>

#include "detection/polygons.h"
#include "diopi_core/host_device.h"
#include "diopi_core/integer.h"
#include "diopi_core/math.h"

namespace diopigen::core {

constexpr int kPointsOfSet = 9;

// From the lowest point, of those the one with the smallest x, from x to y, without points on the sides.
struct Hull {
    static constexpr int kMost = kPointsOfSet + 4;

    Spot corners[kMost];
    int points[kMost];  // which point a corner is, the first of equal ones
    int count;

    DIOPI_HOST_DEVICE const Spot& after(int i) const { return corners[i + 1 == count ? 0 : i + 1]; }
    DIOPI_HOST_DEVICE const Spot& before(int i) const { return corners[i == 0 ? count - 1 : i - 1]; }
    DIOPI_HOST_DEVICE double area() const { return signed_area(corners, count); }
};

DIOPI_HOST_DEVICE inline bool is_same(const Spot& a, const Spot& b) { return a.x == b.x && a.y == b.y; }

DIOPI_HOST_DEVICE inline double squared_way(const Spot& a, const Spot& b) {
    return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

// From each corner to the point that no other one is to the right of, of several in one direction the furthest.
DIOPI_HOST_DEVICE inline Hull hull_of(const Spot* points, int count) {
    Hull hull{};
    int first = 0;
    for (int i = 1; i < count; ++i) {
        if (points[i].y < points[first].y || (points[i].y == points[first].y && points[i].x < points[first].x)) {
            first = i;
        }
    }
    int last = first;
    while (hull.count < Hull::kMost && hull.count < count) {
        hull.corners[hull.count] = points[last];
        hull.points[hull.count] = last;
        ++hull.count;
        int next = -1;
        for (int i = 0; i < count; ++i) {
            if (is_same(points[i], points[last])) {
                continue;
            }
            const double turn = next < 0 ? -1 : cross(points[last], points[next], points[i]);
            if (turn < 0 ||
                (turn == 0 && squared_way(points[last], points[i]) > squared_way(points[last], points[next]))) {
                next = i;
            }
        }
        if (next < 0 || is_same(points[next], points[first])) {
            break;
        }
        last = next;
    }
    return hull;
}

DIOPI_HOST_DEVICE inline void read_spots(Spot* to, const double* numbers, int count) {
    for (int i = 0; i < count; ++i) {
        to[i] = {numbers[2 * i], numbers[2 * i + 1]};
    }
}

struct MakeHull {
    Hull* to;
    const double* sets;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        Spot points[kPointsOfSet];
        read_spots(points, sets + 2 * kPointsOfSet * at, kPointsOfSet);
        to[at] = hull_of(points, kPointsOfSet);
    }
};

// ---- A simple quadrilateral as one convex piece, or as two where it has a corner that points inwards. ----

struct Pieces {
    Spot corners[2][4];
    int sizes[2];
    int count;
    double area;

    // Pieces go from x to y.
    DIOPI_HOST_DEVICE explicit Pieces(const double* numbers) : sizes{0, 0}, count(0) {
        Spot read[4];
        read_spots(read, numbers, 4);
        const double found = signed_area(read, 4);
        area = found < 0 ? -found : found;
        if (area == 0) {
            return;
        }
        Spot way[4];
        int inwards = -1;
        for (int i = 0; i < 4; ++i) {
            way[i] = read[found < 0 ? 3 - i : i];
        }
        for (int i = 0; i < 4; ++i) {
            if (cross(way[(i + 3) % 4], way[i], way[(i + 1) % 4]) < 0) {
                inwards = i;
            }
        }
        count = inwards < 0 ? 1 : 2;
        for (int piece = 0; piece < count; ++piece) {
            sizes[piece] = inwards < 0 ? 4 : 3;
            for (int i = 0; i < sizes[piece]; ++i) {
                corners[piece][i] = way[inwards < 0 ? i : (inwards + (i == 0 ? 0 : i + piece)) % 4];
            }
        }
    }
};

DIOPI_HOST_DEVICE inline double shared_area(const Hull& hull, const Pieces& pieces) {
    Polygon polygon;
    for (int i = 0; i < hull.count; ++i) {
        polygon.add(hull.corners[i]);
    }
    double sum = 0;
    for (int piece = 0; piece < pieces.count; ++piece) {
        sum += shared_area(polygon, pieces.corners[piece], pieces.sizes[piece]);
    }
    return sum;
}

struct ShareOfHulls {
    double* to;
    const Hull* hulls;
    const double* quadrilaterals;
    int64_t others;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const Hull& hull = hulls[at / others];
        const Pieces pieces(quadrilaterals + 8 * (at % others));
        const double common = shared_area(hull, pieces);
        to[at] = common / (hull.area() + pieces.area - common);
    }
};

// ---- The generalized overlap with its gradient. ----

// Which part of the way from a to b is in a convex polygon that goes from x to y.
struct Part {
    double begin;
    double end;
};

DIOPI_HOST_DEVICE inline Part part_inside(const Spot& a, const Spot& b, const Spot* corners, int count) {
    Part part{0, 1};
    for (int i = 0; i < count && part.begin < part.end; ++i) {
        const Spot& next = corners[i + 1 == count ? 0 : i + 1];
        const double of_a = cross(corners[i], next, a);
        const double of_b = cross(corners[i], next, b);
        if (of_a < 0 && of_b < 0) {
            part.end = part.begin;
        } else if (of_a < 0) {
            const double at = of_a / (of_a - of_b);
            part.begin = at > part.begin ? at : part.begin;
        } else if (of_b < 0) {
            const double at = of_a / (of_a - of_b);
            part.end = at < part.end ? at : part.end;
        }
    }
    return part;
}

struct Gradient {
    double x[Hull::kMost];
    double y[Hull::kMost];
};

// Of the area that a hull shares with the pieces, by its corners: a corner takes its share of what the two sides next
// to it sweep over, where they are inside.
DIOPI_HOST_DEVICE inline Gradient gradient_of_shared(const Hull& hull, const Pieces& pieces) {
    Gradient found{};
    for (int i = 0; i < hull.count; ++i) {
        const int k = i + 1 == hull.count ? 0 : i + 1;
        const double out_x = hull.corners[k].y - hull.corners[i].y;
        const double out_y = hull.corners[i].x - hull.corners[k].x;
        for (int piece = 0; piece < pieces.count; ++piece) {
            const Part part = part_inside(hull.corners[i], hull.corners[k], pieces.corners[piece], pieces.sizes[piece]);
            if (part.begin < part.end) {
                const double of_next = (part.end * part.end - part.begin * part.begin) / 2;
                const double of_own = part.end - part.begin - of_next;
                found.x[i] += of_own * out_x;
                found.y[i] += of_own * out_y;
                found.x[k] += of_next * out_x;
                found.y[k] += of_next * out_y;
            }
        }
    }
    return found;
}

// 19 numbers for each set: the gradient for its 18 coordinates, and the overlap.
struct GeneralizedShare {
    double* to;
    const Hull* hulls;
    const double* quadrilaterals;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const Hull& hull = hulls[at];
        const Pieces pieces(quadrilaterals + 8 * at);
        Spot all[Hull::kMost];
        for (int i = 0; i < hull.count; ++i) {
            all[i] = hull.corners[i];
        }
        read_spots(all + hull.count, quadrilaterals + 8 * at, 4);
        const Hull around = hull_of(all, hull.count + 4);
        const double common = shared_area(hull, pieces);
        const double covered = hull.area() + pieces.area - common;
        const double around_area = around.area();
        double* const result = to + (2 * kPointsOfSet + 1) * at;
        for (int i = 0; i < 2 * kPointsOfSet; ++i) {
            result[i] = 0;
        }
        result[2 * kPointsOfSet] = common / covered - (around_area - covered) / around_area;
        const Gradient of_common = gradient_of_shared(hull, pieces);
        for (int i = 0; i < hull.count; ++i) {
            double around_x = 0;
            double around_y = 0;
            for (int k = 0; k < around.count; ++k) {
                if (around.points[k] == i) {
                    around_x = (around.after(k).y - around.before(k).y) / 2;
                    around_y = (around.before(k).x - around.after(k).x) / 2;
                }
            }
            const double area_x = (hull.after(i).y - hull.before(i).y) / 2;
            const double area_y = (hull.before(i).x - hull.after(i).x) / 2;
            double* const of_point = result + 2 * hull.points[i];
            of_point[0] = slope(common, covered, around_area, of_common.x[i], area_x, around_x);
            of_point[1] = slope(common, covered, around_area, of_common.y[i], area_y, around_y);
        }
    }

  private:
    // Of common / covered + covered / whole.
    DIOPI_HOST_DEVICE static double slope(double common, double covered, double around_area, double of_common,
                                          double of_area, double of_around) {
        const double of_covered = of_area - of_common;
        return (of_common - common / covered * of_covered) / covered +
               (of_covered - covered / around_area * of_around) / around_area;
    }
};

// ---- The rectangle of least area: one of its sides is along a side of the hull. ----

struct Direction {
    double x;
    double y;
};

// Turned by quarters, so that it is in [0, a quarter) from x to y; straight down counts as a quarter.
DIOPI_HOST_DEVICE inline Direction in_first_quarter(double x, double y) {
    const double length = numeric::sqrt(x * x + y * y);
    if (length == 0) {
        return {1, 0};
    }
    x /= length;
    y /= length;
    if (x == 0 && y < 0) {
        return {0, 1};
    }
    if (x > 0) {
        return y >= 0 ? Direction{x, y} : Direction{-y, x};
    }
    return y > 0 ? Direction{y, -x} : Direction{-x, -y};
}

struct LeastRectangle {
    // Areas that differ by less count as equal: the first of them stays.
    static constexpr double kEqual = 1e-12;

    double* to;
    const Hull* hulls;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const Hull& hull = hulls[at];
        double* const result = to + 8 * at;
        double least = 0;
        for (int i = 0; i < hull.count; ++i) {
            const Spot& origin = hull.corners[0];
            const Direction along =
                in_first_quarter(hull.after(i).x - hull.corners[i].x, hull.after(i).y - hull.corners[i].y);
            double low[2] = {0, 0};
            double high[2] = {0, 0};
            for (int k = 1; k < hull.count; ++k) {
                const double x = hull.corners[k].x - origin.x;
                const double y = hull.corners[k].y - origin.y;
                const double rotated[2] = {along.x * x + along.y * y, along.x * y - along.y * x};
                for (int dim = 0; dim < 2; ++dim) {
                    low[dim] = rotated[dim] < low[dim] ? rotated[dim] : low[dim];
                    high[dim] = rotated[dim] > high[dim] ? rotated[dim] : high[dim];
                }
            }
            const double area = (high[0] - low[0]) * (high[1] - low[1]);
            if (i == 0 || area < least * (1 - kEqual)) {
                least = area;
                const double corners[4][2] = {
                    {high[0], low[1]}, {low[0], low[1]}, {low[0], high[1]}, {high[0], high[1]}};
                for (int k = 0; k < 4; ++k) {
                    result[2 * k] = origin.x + along.x * corners[k][0] - along.y * corners[k][1];
                    result[2 * k + 1] = origin.y + along.y * corners[k][0] + along.x * corners[k][1];
                }
            }
        }
    }
};

// ---- Points in quadrilaterals: an odd number of sides is to their right. ----

struct FindInside {
    double* to;
    const double* points;
    const double* quadrilaterals;
    int64_t others;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const double* point = points + 2 * (at / others);
        const double* corners = quadrilaterals + 8 * (at % others);
        bool is_inside = false;
        for (int i = 0; i < 4; ++i) {
            const double* a = corners + 2 * i;
            const double* b = corners + 2 * ((i + 3) % 4);
            if ((a[1] < point[1]) != (b[1] < point[1])) {
                const double x = a[0] + (point[1] - a[1]) * (b[0] - a[0]) / (b[1] - a[1]);
                is_inside = is_inside != (x > point[0]);
            }
        }
        to[at] = is_inside ? 1 : 0;
    }
};

// ---- The vertices of the intersection of two boxes in their order around its centre. ----

struct SortVertices {
    static constexpr int kResults = 9;
    static constexpr int kCorners = 8;  // before the points where sides cross

    Int32* to;
    const double* vertices;  // [intersections, candidates, 2]
    const Bool* mask;
    const Int32* counts;
    int64_t candidates;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const double* of_own = vertices + 2 * candidates * at;
        const Bool* is_valid = mask + candidates * at;
        int64_t none = candidates - 1;
        for (int64_t i = candidates - 1; i >= kCorners; --i) {
            none = is_valid[i].value == 0 ? i : none;
        }
        double angles[kCorners];
        int64_t order[kCorners];
        int count = 0;
        for (int64_t i = 0; i < candidates && count < kCorners && counts[at].value >= 3; ++i) {
            if (is_valid[i].value != 0) {
                const double angle = numeric::atan2(of_own[2 * i + 1], of_own[2 * i]);
                const double rotated = angle < 0 ? angle + 6.283185307179586 : angle;
                int slot = count;
                for (; slot > 0 && angles[slot - 1] > rotated; --slot) {
                    angles[slot] = angles[slot - 1];
                    order[slot] = order[slot - 1];
                }
                angles[slot] = rotated;
                order[slot] = i;
                ++count;
            }
        }
        if (count == kCorners && has_pairs(of_own, order)) {
            count /= 2;
            for (int i = 0; i < count; ++i) {
                order[i] = order[2 * i];
            }
        }
        Int32* const result = to + kResults * at;
        for (int i = 0; i < kResults; ++i) {
            const int64_t found = i < count ? order[i] : i == count && count > 0 ? order[0] : none;
            result[i] = Int32(static_cast<int32_t>(found));
        }
    }

  private:
    DIOPI_HOST_DEVICE static bool has_pairs(const double* vertices, const int64_t* order) {
        constexpr double kSame = 1e-8;
        for (int i = 0; i < kCorners; i += 2) {
            for (int dim = 0; dim < 2; ++dim) {
                const double way = vertices[2 * order[i] + dim] - vertices[2 * order[i + 1] + dim];
                if (way > kSame || way < -kSame) {
                    return false;
                }
            }
        }
        return true;
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_HULLS_H_
