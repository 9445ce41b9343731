// Sampling of the furthest points, for the libraries of all devices.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_FURTHEST_POINTS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_FURTHEST_POINTS_H_

#include <cstdint>

#include "detection.h"
#include "detection/point_neighbours.h"
#include "diopi_core/dense.h"
#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::core {

// A point that may be the furthest. Which of two is does not depend on their order: of equal ones the lower index.
struct Furthest {
    double distance;
    int64_t index;  // negative: none

    DIOPI_HOST_DEVICE static Furthest of(const Furthest& a, const Furthest& b) {
        if (a.index < 0 || b.index < 0) {
            return a.index < 0 ? b : a;
        }
        const bool is_b = b.distance > a.distance || (!(a.distance > b.distance) && b.index < a.index);
        return is_b ? b : a;
    }
};

// How far a point of a cloud is from another one.
struct BySquares {
    const double* points;  // [clouds, count, 3]
    int64_t count;

    DIOPI_HOST_DEVICE double operator()(int64_t cloud, int64_t from, int64_t to) const {
        return squared_distance(points + 3 * (cloud * count + from), points + 3 * (cloud * count + to));
    }
};

struct ByTable {
    const double* distances;  // [clouds, from, to]
    int64_t count;

    DIOPI_HOST_DEVICE double operator()(int64_t cloud, int64_t from, int64_t to) const {
        return distances[(cloud * count + from) * count + to];
    }
};

// Lowers the distance of a point to the nearest of the selected ones.
template <typename Distance>
DIOPI_HOST_DEVICE inline Furthest lowered(double* near, const Distance& distance, int64_t cloud, int64_t from,
                                          int64_t to) {
    const double found = distance(cloud, from, to);
    if (found < near[to]) {
        near[to] = found;
    }
    return {near[to], to};
}

// `Choose` is how a library does it: choose(near, selected, distance, clouds, count, picks) with near [clouds, count]
// and selected [clouds, picks]; there are points, and picks.
template <typename Distance, typename Choose>
void sample_furthest(const Tensor& temp, const Tensor& idx, const Tensor& known, const Choose& choose) {
    require_separate({&temp, &idx}, {&known});
    const Input<double> from(known);
    const Changed near(temp, Dtype::kFloat64);
    const Output<Int32> selected(idx);
    if (idx.numel > 0) {
        choose(near.as<double>(), selected.data(), Distance{from.data(), temp.shape[1]}, temp.shape[0], temp.shape[1],
               idx.shape[1]);
    }
    near.store();
    selected.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_FURTHEST_POINTS_H_
