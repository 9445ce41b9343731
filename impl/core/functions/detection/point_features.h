// What functions over clouds of points do to features: each object is called with the number of one owner, which alone
// writes its results, so that nothing depends on the number of threads. All of it runs on a GPU as well.
//
// Features are double; indices have been checked unless it is said otherwise.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_POINT_FEATURES_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_POINT_FEATURES_H_

#include <cstdint>

#include "diopi_core/dtype.h"
#include "diopi_core/host_device.h"
#include "diopi_core/integer.h"

namespace diopigen::core {

// ---- Features by index: rows are clouds and channels, [clouds, channels, points] and [clouds, channels, picks]. ----

template <typename W>
struct PickPoints {
    W* to;
    const W* from;
    const Int64* indices;  // [clouds, picks]
    int64_t channels;
    int64_t points;
    int64_t picks;

    struct Row {
        W* to;
        const W* from;
        const Int64* indices;

        DIOPI_HOST_DEVICE void operator()(int64_t i) const { to[i] = from[indices[i].value]; }
    };

    DIOPI_HOST_DEVICE Row row(int64_t k) const {
        return {to + k * picks, from + k * points, indices + k / channels * picks};
    }
};

// An owner for each row.
struct AddPicked {
    double* sums;
    const double* gradient;
    const Int64* indices;
    int64_t channels;
    int64_t points;
    int64_t picks;

    DIOPI_HOST_DEVICE void operator()(int64_t row) const {
        const Int64* index = indices + row / channels * picks;
        for (int64_t k = 0; k < picks; ++k) {
            sums[row * points + index[k].value] += gradient[row * picks + k];
        }
    }
};

// The same with three picks for each target, each with its weight.
struct Interpolate {
    double* to;
    const double* from;
    const Int64* indices;
    const double* weights;
    int64_t channels;
    int64_t points;
    int64_t targets;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t row = at / targets;
        const int64_t first = 3 * (row / channels * targets + at % targets);
        double sum = 0;
        for (int64_t k = first; k < first + 3; ++k) {
            sum += weights[k] * from[row * points + indices[k].value];
        }
        to[at] = sum;
    }
};

struct AddInterpolated {
    double* sums;
    const double* gradient;
    const Int64* indices;
    const double* weights;
    int64_t channels;
    int64_t points;
    int64_t targets;

    DIOPI_HOST_DEVICE void operator()(int64_t row) const {
        const int64_t first = 3 * (row / channels * targets);
        for (int64_t k = 0; k < 3 * targets; ++k) {
            sums[row * points + indices[first + k].value] += weights[first + k] * gradient[row * targets + k / 3];
        }
    }
};

// ---- Clouds that are joined: points [all points, channels], picks [all centres, channels, picks]. ----

// Of a cloud: its first point and centre in the joined ones, and how many it has.
struct Cloud {
    int64_t point;
    int64_t points;
    int64_t centre;
    int64_t centres;
};

template <typename W>
struct PickStacked {
    W* to;
    const W* from;
    const Int64* indices;  // [all centres, picks]; one behind the cloud leaves the result as it is
    const Cloud* clouds;
    const int64_t* cloud_of;  // of each centre
    int64_t channels;
    int64_t picks;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t centre = at / (channels * picks);
        const Cloud& cloud = clouds[cloud_of[centre]];
        const int64_t index = indices[centre * picks + at % picks].value;
        if (index < cloud.points) {
            to[at] = from[(cloud.point + index) * channels + at / picks % channels];
        }
    }
};

// An owner for each cloud and channel.
struct AddStacked {
    double* sums;
    const double* gradient;
    const Int64* indices;
    const Cloud* clouds;
    int64_t channels;
    int64_t picks;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const Cloud& cloud = clouds[at / channels];
        const int64_t channel = at % channels;
        for (int64_t centre = cloud.centre; centre < cloud.centre + cloud.centres; ++centre) {
            for (int64_t k = 0; k < picks; ++k) {
                const int64_t point = cloud.point + indices[centre * picks + k].value;
                sums[point * channels + channel] += gradient[(centre * channels + channel) * picks + k];
            }
        }
    }
};

// ---- Scores of weight matrices (PAConv): features [clouds, points, matrices, channels]. ----

struct Assigned {
    const Int64* neighbours;  // [clouds, centres, per_centre]; the first is the centre, others may be outside
    int64_t points;
    int64_t centres;
    int64_t per_centre;
    int64_t matrices;
    int64_t channels;

    // The first feature of a point under a matrix.
    DIOPI_HOST_DEVICE int64_t feature(int64_t cloud, int64_t point, int64_t matrix) const {
        return ((cloud * points + point) * matrices + matrix) * channels;
    }
    // The number of a neighbour in its cloud; -1 where it is outside. `row` counts clouds and centres.
    DIOPI_HOST_DEVICE int64_t neighbour(int64_t row, int64_t k) const {
        const int64_t index = neighbours[row * per_centre + k].value;
        return index >= 0 && index < points ? index : -1;
    }
};

// An owner for each result: [clouds, channels, centres, neighbours].
struct AssignScores {
    double* sums;
    const double* features;
    const double* own_features;  // of points as centres
    const double* scores;        // [clouds, centres, neighbours, matrices]
    Assigned at;

    DIOPI_HOST_DEVICE void operator()(int64_t result) const {
        const int64_t k = result % at.per_centre;
        const int64_t centre = result / at.per_centre % at.centres;
        const int64_t channel = result / (at.per_centre * at.centres) % at.channels;
        const int64_t cloud = result / (at.per_centre * at.centres * at.channels);
        const int64_t row = cloud * at.centres + centre;
        const int64_t near = at.neighbour(row, k);
        if (near < 0) {
            return;
        }
        double sum = 0;
        for (int64_t matrix = 0; matrix < at.matrices; ++matrix) {
            const double of_point = features[at.feature(cloud, near, matrix) + channel];
            const double of_centre = own_features[at.feature(cloud, at.neighbour(row, 0), matrix) + channel];
            sum += (of_point - of_centre) * scores[(row * at.per_centre + k) * at.matrices + matrix];
        }
        sums[result] += sum;
    }
};

// An owner for each cloud and matrix.
struct AddAssignedFeatures {
    double* sums;
    double* own_sums;
    const double* gradient;
    const double* scores;
    Assigned at;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t cloud = owner / at.matrices;
        const int64_t matrix = owner % at.matrices;
        for (int64_t pair = 0; pair < at.centres * at.per_centre; ++pair) {
            const int64_t row = cloud * at.centres + pair / at.per_centre;
            const int64_t near = at.neighbour(row, pair % at.per_centre);
            if (near < 0) {
                continue;
            }
            const double score = scores[(cloud * at.centres * at.per_centre + pair) * at.matrices + matrix];
            double* of_point = sums + at.feature(cloud, near, matrix);
            double* of_centre = own_sums + at.feature(cloud, at.neighbour(row, 0), matrix);
            for (int64_t channel = 0; channel < at.channels; ++channel) {
                const double part =
                    score * gradient[(cloud * at.channels + channel) * at.centres * at.per_centre + pair];
                of_point[channel] += part;
                of_centre[channel] -= part;
            }
        }
    }
};

// An owner for each score.
struct AddAssignedScores {
    double* sums;
    const double* gradient;
    const double* features;
    const double* own_features;
    Assigned at;

    DIOPI_HOST_DEVICE void operator()(int64_t score) const {
        const int64_t matrix = score % at.matrices;
        const int64_t k = score / at.matrices % at.per_centre;
        const int64_t row = score / (at.matrices * at.per_centre);
        const int64_t cloud = row / at.centres;
        const int64_t near = at.neighbour(row, k);
        if (near < 0) {
            return;
        }
        const double* of_point = features + at.feature(cloud, near, matrix);
        const double* of_centre = own_features + at.feature(cloud, at.neighbour(row, 0), matrix);
        const int64_t pair = row % at.centres * at.per_centre + k;
        double sum = 0;
        for (int64_t channel = 0; channel < at.channels; ++channel) {
            sum += (of_point[channel] - of_centre[channel]) *
                   gradient[(cloud * at.channels + channel) * at.centres * at.per_centre + pair];
        }
        sums[score] += sum;
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_POINT_FEATURES_H_
