// Polygons in the plane, in double, for the libraries of all devices. The area of a polygon is positive where its
// corners go from the positive x axis towards the positive y axis.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_POLYGONS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_POLYGONS_H_

#include <cstdint>

#include "diopi_core/host_device.h"

namespace diopigen::core {

struct Spot {
    double x;
    double y;
};

// Twice the area of the triangle o, a, b.
DIOPI_HOST_DEVICE inline double cross(const Spot& o, const Spot& a, const Spot& b) {
    return (a.x - o.x) * (b.y - o.y) - (b.x - o.x) * (a.y - o.y);
}

// A convex polygon: at most nine corners, and one more for each side that cuts it.
struct Polygon {
    static constexpr int kMost = 16;

    Spot corners[kMost];
    int count = 0;

    DIOPI_HOST_DEVICE void add(const Spot& corner) {
        if (count < kMost) {
            corners[count] = corner;
            ++count;
        }
    }
};

DIOPI_HOST_DEVICE inline double signed_area(const Spot* corners, int count) {
    double sum = 0;
    for (int i = 1; i + 1 < count; ++i) {
        sum += cross(corners[0], corners[i], corners[i + 1]);
    }
    return sum / 2;
}

// What of a polygon is not to the right of the way from a to b.
DIOPI_HOST_DEVICE inline Polygon left_of(const Polygon& polygon, const Spot& a, const Spot& b) {
    Polygon found;
    for (int i = 0; i < polygon.count; ++i) {
        const Spot& from = polygon.corners[i];
        const Spot& to = polygon.corners[i + 1 == polygon.count ? 0 : i + 1];
        const double of_from = cross(a, b, from);
        const double of_to = cross(a, b, to);
        if (of_from >= 0) {
            found.add(from);
        }
        if ((of_from > 0 && of_to < 0) || (of_from < 0 && of_to > 0)) {
            const double part = of_from / (of_from - of_to);
            found.add({from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)});
        }
    }
    return found;
}

// The area that a convex polygon shares with another one of `count` corners.
DIOPI_HOST_DEVICE inline double shared_area(const Polygon& polygon, const Spot* corners, int count) {
    const double area = signed_area(corners, count);
    if (area == 0) {
        return 0;
    }
    Polygon rest = polygon;
    for (int i = 0; i < count && rest.count > 0; ++i) {
        const Spot& next = corners[i + 1 == count ? 0 : i + 1];
        rest = area > 0 ? left_of(rest, corners[i], next) : left_of(rest, next, corners[i]);
    }
    const double found = signed_area(rest.corners, rest.count);
    return found < 0 ? -found : found;
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_POLYGONS_H_
