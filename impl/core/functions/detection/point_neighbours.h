// What searches for neighbours in clouds of points do: as in point_features.h, each object is called with the number of
// one owner. Coordinates are double.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_POINT_NEIGHBOURS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_POINT_NEIGHBOURS_H_

#include <cstdint>

#include "point_features.h"

namespace diopigen::core {

DIOPI_HOST_DEVICE inline double squared_distance(const double* a, const double* b) {
    const double x = a[0] - b[0];
    const double y = a[1] - b[1];
    const double z = a[2] - b[2];
    return x * x + y * y + z * z;
}

// ---- Neighbours: an owner for each centre. ----

// Puts a point into a list of the nearest, if it is nearer than the last one. Behind equally near ones: the list is in
// order of index there.
DIOPI_HOST_DEVICE inline void insert_near(double* distances, int64_t* indices, int64_t size, double distance,
                                          int64_t index) {
    if (!(distance < distances[size - 1])) {
        return;
    }
    int64_t at = size - 1;
    for (; at > 0 && distance < distances[at - 1]; --at) {
        distances[at] = distances[at - 1];
        indices[at] = indices[at - 1];
    }
    distances[at] = distance;
    indices[at] = index;
}

constexpr int64_t kMostNeighbours = 99;

struct Nearest {
    double* distances;  // [clouds, centres, size]
    Int32* indices;
    const double* centres;
    const double* points;
    int64_t per_cloud;  // centres
    int64_t count;      // points of a cloud
    int64_t size;       // at most kMostNeighbours
    double none;        // the distance of missing ones

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        double near[kMostNeighbours];
        int64_t found[kMostNeighbours];
        for (int64_t k = 0; k < size; ++k) {
            near[k] = none;
            found[k] = 0;
        }
        const double* cloud = points + 3 * (at / per_cloud * count);
        for (int64_t i = 0; i < count; ++i) {
            insert_near(near, found, size, squared_distance(centres + 3 * at, cloud + 3 * i), i);
        }
        for (int64_t k = 0; k < size; ++k) {
            distances[at * size + k] = near[k];
            indices[at * size + k] = Int32(static_cast<int32_t>(found[k]));
        }
    }
};

// The first points whose distance is in [least, end) fill a row of `size`, the first one again where they are too few.
// Points at distance 0 count as well where `with_itself` holds. Returns how many there are.
DIOPI_HOST_DEVICE inline int64_t fill_ball(Int32* row, int64_t size, const double* centre, const double* points,
                                           int64_t count, double least, double end, bool with_itself) {
    int64_t found = 0;
    for (int64_t i = 0; i < count && found < size; ++i) {
        const double distance = squared_distance(centre, points + 3 * i);
        if ((distance >= least && distance < end) || (with_itself && distance == 0)) {
            row[found++] = Int32(static_cast<int32_t>(i));
        }
    }
    for (int64_t k = found; found > 0 && k < size; ++k) {
        row[k] = row[0];
    }
    return found;
}

struct QueryBall {
    Int32* rows;
    const double* centres;
    const double* points;
    int64_t per_cloud;  // centres
    int64_t count;      // points of a cloud
    int64_t size;
    double least;  // squares of the radii
    double end;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        fill_ball(rows + at * size, size, centres + 3 * at, points + 3 * (at / per_cloud * count), count, least, end,
                  true);
    }
};

struct QueryStackedBall {
    Int32* rows;
    const double* centres;
    const double* points;
    const Cloud* clouds;
    const int64_t* cloud_of;  // of each centre
    int64_t size;
    double end;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const Cloud& cloud = clouds[cloud_of[at]];
        const int64_t found =
            fill_ball(rows + at * size, size, centres + 3 * at, points + 3 * cloud.point, cloud.points, 0, end, false);
        if (found == 0 && size > 0) {
            rows[at * size] = Int32(-1);
        }
    }
};

// ---- Chamfer distance: points of the plane. ----

struct NearestInPlane {
    double* distances;
    Int32* indices;
    const double* own;
    const double* others;
    int64_t own_count;
    int64_t other_count;  // at least 1

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const double* cloud = others + 2 * (at / own_count * other_count);
        double best = 0;
        int64_t found = 0;
        for (int64_t i = 0; i < other_count; ++i) {
            const double x = cloud[2 * i] - own[2 * at];
            const double y = cloud[2 * i + 1] - own[2 * at + 1];
            const double distance = x * x + y * y;
            if (i == 0 || distance < best) {
                best = distance;
                found = i;
            }
        }
        distances[at] = best;
        indices[at] = Int32(static_cast<int32_t>(found));
    }
};

// One coordinate of one set of one cloud is an owner: the gradient of its own distances, and of those of the others
// that have its points as neighbours.
struct AddChamfer {
    double* sums;
    const double* own;
    const double* others;
    const Int64* own_neighbours;
    const Int64* other_neighbours;
    const double* own_gradient;
    const double* other_gradient;
    int64_t own_count;
    int64_t other_count;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t first = at / 2 * own_count;
        const int64_t other_first = at / 2 * other_count;
        const int64_t axis = at % 2;
        for (int64_t i = first; i < first + own_count; ++i) {
            const double neighbour = others[2 * (other_first + own_neighbours[i].value) + axis];
            sums[2 * i + axis] += 2 * own_gradient[i] * (own[2 * i + axis] - neighbour);
        }
        for (int64_t k = other_first; k < other_first + other_count; ++k) {
            const int64_t i = first + other_neighbours[k].value;
            sums[2 * i + axis] += 2 * other_gradient[k] * (own[2 * i + axis] - others[2 * k + axis]);
        }
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_POINT_NEIGHBOURS_H_
