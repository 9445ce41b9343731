// What pooling of regions does with whole elements and with integrals, as in samples.h.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_AREAS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_AREAS_H_

#include <algorithm>
#include <cstdint>

#include "detection/samples.h"
#include "diopi_core/integer.h"
#include "diopi_core/math.h"

namespace diopigen::core {

struct PlainRegion {
    int64_t image;
    double y;
    double x;
    double height;
    double width;
};

// ---- The largest element of each bin, whose ends are rounded outwards. ----

struct ElementRange {
    int64_t begin;
    int64_t end;
};

DIOPI_HOST_DEVICE inline ElementRange elements_of(double start, double extent, int64_t bin, int64_t bins,
                                                  int64_t size) {
    const auto count = static_cast<double>(bins);
    const auto most = static_cast<double>(size);
    const double low = numeric::floor(static_cast<double>(bin) * extent / count + start);
    const double high = numeric::ceil(static_cast<double>(bin + 1) * extent / count + start);
    return {static_cast<int64_t>(std::min(std::max(low, 0.0), most)),
            static_cast<int64_t>(std::min(std::max(high, 0.0), most))};
}

// A region without area leaves results as they are; a bin outside of the map is 0 and has no position.
template <typename T>
struct LargestElements {
    T* to;
    Int32* positions;
    const T* from;
    const PlainRegion* regions;
    Maps maps;
    Bins bins;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t k = at / bins.count() / maps.channels;
        const PlainRegion& region = regions[k];
        if (region.width <= 0 || region.height <= 0) {
            return;
        }
        const int64_t bin = at % bins.count();
        const ElementRange rows = elements_of(region.y, region.height, bin / bins.columns, bins.rows, maps.height);
        const ElementRange columns = elements_of(region.x, region.width, bin % bins.columns, bins.columns, maps.width);
        const T* map = from + (region.image * maps.channels + at / bins.count() % maps.channels) * maps.plane();
        int64_t best = -1;
        for (int64_t row = rows.begin; row < rows.end; ++row) {
            for (int64_t i = row * maps.width + columns.begin; i < row * maps.width + columns.end; ++i) {
                if (best < 0 || map[i] > map[best]) {
                    best = i;
                }
            }
        }
        to[at] = best < 0 ? T(0) : map[best];
        positions[at] = Int32(static_cast<int32_t>(best));
    }
};

struct AddLargestElements {
    double* sums;
    const double* gradient;
    const Int64* positions;
    const PlainRegion* regions;
    int64_t count;
    Maps maps;
    Bins bins;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        for_bins_of(regions, count, maps, bins, at, [&](int64_t i) {
            if (positions[i].value >= 0) {
                sums[at * maps.plane() + positions[i].value] += gradient[i];
            }
        });
    }
};

// ---- Integrals of the map as a continuous function, bilinear between elements and 0 outside. ----

// How much element i counts at a place, and between minus infinity and a place.
DIOPI_HOST_DEVICE inline double weight_at(double position, int64_t i) {
    const double distance = position - static_cast<double>(i);
    return std::max(1 - (distance < 0 ? -distance : distance), 0.0);
}

DIOPI_HOST_DEVICE inline double weight_up_to(double position, int64_t i) {
    const double distance = std::min(std::max(position - static_cast<double>(i), -1.0), 1.0);
    const double outside = 1 - (distance < 0 ? -distance : distance);
    return distance < 0 ? outside * outside / 2 : 1 - outside * outside / 2;
}

// One dimension of a bin, and the elements that count in it.
struct Stretch {
    double low;
    double high;
    int64_t begin;
    int64_t end;

    DIOPI_HOST_DEVICE Stretch(double start, double extent, int64_t bin, int64_t bins, int64_t size)
        : low(start + extent * static_cast<double>(bin) / static_cast<double>(bins)),
          high(start + extent * static_cast<double>(bin + 1) / static_cast<double>(bins)),
          begin(static_cast<int64_t>(numeric::floor(std::min(std::max(low, 0.0), static_cast<double>(size))))),
          end(static_cast<int64_t>(numeric::ceil(std::min(std::max(high + 1, 0.0), static_cast<double>(size))))) {}

    DIOPI_HOST_DEVICE double length() const { return high - low; }
    DIOPI_HOST_DEVICE double weight(int64_t i) const { return weight_up_to(high, i) - weight_up_to(low, i); }
};

struct Area {
    Stretch down;
    Stretch across;

    DIOPI_HOST_DEVICE Area(const PlainRegion& region, const Bins& bins, int64_t bin, const Maps& maps)
        : down(region.y, region.height, bin / bins.columns, bins.rows, maps.height),
          across(region.x, region.width, bin % bins.columns, bins.columns, maps.width) {}

    DIOPI_HOST_DEVICE double size() const { return down.length() * across.length(); }
};

DIOPI_HOST_DEVICE inline bool has_area(const PlainRegion& region) { return region.width > 0 && region.height > 0; }

template <typename T>
struct IntegrateBins {
    double* to;
    const T* from;
    const PlainRegion* regions;
    Maps maps;
    Bins bins;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const PlainRegion& region = regions[at / bins.count() / maps.channels];
        double sum = 0;
        if (has_area(region)) {
            const Area area(region, bins, at % bins.count(), maps);
            const T* map = from + (region.image * maps.channels + at / bins.count() % maps.channels) * maps.plane();
            for (int64_t i = area.down.begin; i < area.down.end; ++i) {
                double of_row = 0;
                for (int64_t j = area.across.begin; j < area.across.end; ++j) {
                    of_row += area.across.weight(j) * static_cast<double>(map[i * maps.width + j]);
                }
                sum += area.down.weight(i) * of_row;
            }
            sum /= area.size();
        }
        to[at] = sum;
    }
};

struct AddIntegratedBins {
    double* sums;
    const double* gradient;
    const PlainRegion* regions;
    int64_t count;
    Maps maps;
    Bins bins;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        for (int64_t k = 0; k < count; ++k) {
            const PlainRegion& region = regions[k];
            for (int64_t bin = 0; region.image == at / maps.channels && has_area(region) && bin < bins.count(); ++bin) {
                const Area area(region, bins, bin, maps);
                const double share =
                    gradient[(k * maps.channels + at % maps.channels) * bins.count() + bin] / area.size();
                for (int64_t i = area.down.begin; i < area.down.end; ++i) {
                    for (int64_t j = area.across.begin; j < area.across.end; ++j) {
                        sums[at * maps.plane() + i * maps.width + j] +=
                            area.down.weight(i) * area.across.weight(j) * share;
                    }
                }
            }
        }
    }
};

// The gradient of the corners of a region: each bin that has grown by one takes in what is on its side, less the
// mean.
template <typename T>
struct AddCorners {
    double* sums;  // [regions, 5]
    const double* means;
    const double* gradient;
    const T* from;
    const PlainRegion* regions;
    Maps maps;
    Bins bins;
    double scale;

    DIOPI_HOST_DEVICE void operator()(int64_t k) const {
        const PlainRegion& region = regions[k];
        double* const to = sums + 5 * k;
        to[0] = 0;
        for (int64_t i = 0; has_area(region) && i < maps.channels * bins.count(); ++i) {
            const int64_t bin = i % bins.count();
            const double grad_out = gradient[k * maps.channels * bins.count() + i];
            const double mean = means[k * maps.channels * bins.count() + i];
            const Area area(region, bins, bin, maps);
            const T* map = from + (region.image * maps.channels + i / bins.count()) * maps.plane();
            double sides[4] = {0, 0, 0, 0};  // integrals along x1, y1, x2, y2
            for (int64_t row = area.down.begin; row < area.down.end; ++row) {
                for (int64_t column = area.across.begin; column < area.across.end; ++column) {
                    const auto value = static_cast<double>(map[row * maps.width + column]);
                    sides[0] += area.down.weight(row) * weight_at(area.across.low, column) * value;
                    sides[1] += weight_at(area.down.low, row) * area.across.weight(column) * value;
                    sides[2] += area.down.weight(row) * weight_at(area.across.high, column) * value;
                    sides[3] += weight_at(area.down.high, row) * area.across.weight(column) * value;
                }
            }
            const double factor = grad_out * scale / area.size();
            const double low_x = factor * (area.down.length() * mean - sides[0]);
            const double low_y = factor * (area.across.length() * mean - sides[1]);
            const double high_x = factor * (sides[2] - area.down.length() * mean);
            const double high_y = factor * (sides[3] - area.across.length() * mean);
            const double left = share(bin % bins.columns, bins.columns);
            const double right = share(bin % bins.columns + 1, bins.columns);
            const double top = share(bin / bins.columns, bins.rows);
            const double bottom = share(bin / bins.columns + 1, bins.rows);
            to[1] += low_x * (1 - left) + high_x * (1 - right);
            to[2] += low_y * (1 - top) + high_y * (1 - bottom);
            to[3] += low_x * left + high_x * right;
            to[4] += low_y * top + high_y * bottom;
        }
    }

  private:
    DIOPI_HOST_DEVICE static double share(int64_t part, int64_t full) {
        return static_cast<double>(part) / static_cast<double>(full);
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_AREAS_H_
