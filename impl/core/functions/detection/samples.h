// What pooling of regions does with bilinear samples: each object is called with the number of one owner, which alone
// writes its results, so that nothing depends on the number of threads. All of it runs on a GPU as well. Numbers are
// double; of gradients an owner is a channel of an image, which takes all regions in order.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_SAMPLES_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_SAMPLES_H_

#include <cstdint>

#include "detection/detection_kernels.h"
#include "detection/polygons.h"
#include "detection/row_blocks.h"
#include "diopi_core/host_device.h"
#include "diopi_core/integer.h"

namespace diopigen::core {

struct Maps {
    int64_t channels;
    int64_t height;
    int64_t width;

    DIOPI_HOST_DEVICE int64_t plane() const { return height * width; }
};

// ---- One sample: 0 where it is more than one element outside of the map. ----

// The four elements around a position, of any map.
class Sample {
  public:
    DIOPI_HOST_DEVICE Sample(const Maps& maps, double y, double x)
        : row_(between(y, maps.height)), column_(between(x, maps.width)), width_(maps.width) {}

    template <typename T>
    DIOPI_HOST_DEVICE double of(const T* map) const {
        if (!row_.is_inside || !column_.is_inside) {
            return 0;
        }
        const T* low = map + row_.low * width_;
        const T* high = map + row_.high * width_;
        const double rest = column_.rest;
        return (1 - row_.rest) * ((1 - rest) * static_cast<double>(low[column_.low]) +
                                  rest * static_cast<double>(low[column_.high])) +
               row_.rest * ((1 - rest) * static_cast<double>(high[column_.low]) +
                            rest * static_cast<double>(high[column_.high]));
    }

  private:
    Between row_;
    Between column_;
    int64_t width_;
};

DIOPI_HOST_DEVICE inline void add_sample(double* map, const Maps& maps, double y, double x, double gradient) {
    const Between row = between(y, maps.height);
    const Between column = between(x, maps.width);
    if (!row.is_inside || !column.is_inside) {
        return;
    }
    double* low = map + row.low * maps.width;
    double* high = map + row.high * maps.width;
    low[column.low] += (1 - row.rest) * (1 - column.rest) * gradient;
    low[column.high] += (1 - row.rest) * column.rest * gradient;
    high[column.low] += row.rest * (1 - column.rest) * gradient;
    high[column.high] += row.rest * column.rest * gradient;
}

// ---- Bins of a region, each with a grid of samples. ----

// A grid that is turned about its centre. Samples are at `centre` + the grid's own coordinates, turned.
struct SampledRegion {
    int64_t image;
    Side vertical;
    Side horizontal;
    double centre_y;
    double centre_x;
    double cosine;
    double sine;
    // Of oriented channels: how many of them the region turns them back by, and the share of the next one.
    int64_t turn;
    double next;

    DIOPI_HOST_DEVICE int64_t count() const { return vertical.samples * horizontal.samples; }
};

struct Bins {
    int64_t rows;
    int64_t columns;

    DIOPI_HOST_DEVICE int64_t count() const { return rows * columns; }
};

// Offsets of bins, [regions, 2, rows, columns] to the right and down; null for none.
struct Offsets {
    const double* data;
    double gamma;

    DIOPI_HOST_DEVICE double across(const SampledRegion& region, const Bins& bins, int64_t k, int64_t bin) const {
        return data == nullptr ? 0 : gamma * extent_across(region, bins) * data[2 * k * bins.count() + bin];
    }
    DIOPI_HOST_DEVICE double down(const SampledRegion& region, const Bins& bins, int64_t k, int64_t bin) const {
        return data == nullptr ? 0 : gamma * extent_down(region, bins) * data[(2 * k + 1) * bins.count() + bin];
    }
    DIOPI_HOST_DEVICE static double extent_across(const SampledRegion& region, const Bins& bins) {
        return region.horizontal.bin * static_cast<double>(bins.columns);
    }
    DIOPI_HOST_DEVICE static double extent_down(const SampledRegion& region, const Bins& bins) {
        return region.vertical.bin * static_cast<double>(bins.rows);
    }
};

DIOPI_HOST_DEVICE inline double position_in(const Side& side, int64_t bin, int64_t i) {
    const double within = (static_cast<double>(i) + 0.5) / static_cast<double>(side.samples);
    return side.start + side.bin * (static_cast<double>(bin) + within);
}

// Calls visit(y, x) for the samples of bin `bin` of region k, row after row.
template <typename Visit>
DIOPI_HOST_DEVICE inline void for_samples(const SampledRegion& region, const Bins& bins, const Offsets& offsets,
                                          int64_t k, int64_t bin, Visit&& visit) {
    const double right = offsets.across(region, bins, k, bin);
    const double below = offsets.down(region, bins, k, bin);
    for (int64_t i = 0; i < region.vertical.samples; ++i) {
        const double down = position_in(region.vertical, bin / bins.columns, i) + below;
        for (int64_t j = 0; j < region.horizontal.samples; ++j) {
            const double across = position_in(region.horizontal, bin % bins.columns, j) + right;
            visit(region.centre_y + down * region.cosine - across * region.sine,
                  region.centre_x + down * region.sine + across * region.cosine);
        }
    }
}

// The mean of the samples of each bin. An owner for each block of a row of channels; rows are the bins of all regions.
template <typename T>
struct AverageBins {
    double* to;
    const T* from;
    const SampledRegion* regions;
    Maps maps;
    Bins bins;
    Offsets offsets;
    int64_t orientations;  // neighbouring channels that turn with the region; 1 for none

    DIOPI_HOST_DEVICE RowOfBlocks<AverageBins> row(int64_t k) const { return {*this, k, maps.channels}; }

    template <int64_t kCount>
    DIOPI_HOST_DEVICE void write(int64_t row, int64_t begin) const {
        const int64_t k = row / bins.count();
        const SampledRegion& region = regions[k];
        const T* own[kCount];
        const T* next[kCount];
        double sums[kCount] = {};
        for (int64_t i = 0; i < kCount; ++i) {
            const int64_t orientation = (begin + i) % orientations;
            const int64_t first = region.image * maps.channels + begin + i - orientation;
            const int64_t rotated = (orientation + orientations - region.turn) % orientations;
            own[i] = from + (first + rotated) * maps.plane();
            next[i] = from + (first + (rotated + 1) % orientations) * maps.plane();
        }
        for_samples(region, bins, offsets, k, row % bins.count(), [&](double y, double x) {
            const Sample sample(maps, y, x);
            for (int64_t i = 0; i < kCount; ++i) {
                sums[i] += (1 - region.next) * sample.of(own[i]);
                if (region.next != 0) {
                    sums[i] += region.next * sample.of(next[i]);
                }
            }
        });
        for (int64_t i = 0; i < kCount; ++i) {
            const int64_t at = (k * maps.channels + begin + i) * bins.count() + row % bins.count();
            to[at] = region.count() == 0 ? 0 : sums[i] / static_cast<double>(region.count());
        }
    }
};

// The largest sample of each bin, the first of equals, and where it is. A bin without samples has the lowest float.
template <typename T>
struct LargestInBins {
    double* to;
    double* rows;
    double* columns;
    const T* from;
    const SampledRegion* regions;
    Maps maps;
    Bins bins;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t k = at / bins.count() / maps.channels;
        const SampledRegion& region = regions[k];
        const T* map = from + (region.image * maps.channels + at / bins.count() % maps.channels) * maps.plane();
        double best = -3.4028234663852886e+38;
        double row = -1;
        double column = -1;
        for_samples(region, bins, Offsets{nullptr, 0}, k, at % bins.count(), [&](double y, double x) {
            const double found = Sample(maps, y, x).of(map);
            if (found > best) {
                best = found;
                row = y;
                column = x;
            }
        });
        to[at] = best;
        rows[at] = row;
        columns[at] = column;
    }
};

struct AddAveragedBins {
    double* sums;
    const double* gradient;
    const SampledRegion* regions;
    int64_t count;
    Maps maps;
    Bins bins;
    Offsets offsets;
    int64_t orientations;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t channel = at % maps.channels;
        const int64_t own = channel % orientations;
        for (int64_t k = 0; k < count; ++k) {
            const SampledRegion& region = regions[k];
            if (region.image != at / maps.channels) {
                continue;
            }
            // The results that have read this channel, as their own one and as the one after it.
            const int64_t first = k * maps.channels + channel - own;
            const double* of_own = gradient + (first + (own + region.turn) % orientations) * bins.count();
            const double* of_next =
                gradient + (first + (own + region.turn + orientations - 1) % orientations) * bins.count();
            for (int64_t bin = 0; bin < bins.count(); ++bin) {
                const double share = ((1 - region.next) * of_own[bin] + region.next * of_next[bin]) /
                                     static_cast<double>(region.count());
                for_samples(region, bins, offsets, k, bin,
                            [&](double y, double x) { add_sample(sums + at * maps.plane(), maps, y, x, share); });
            }
        }
    }
};

// The bins, [regions, channels, bins], of channel `at` of all images: those of the regions that are in its image.
template <typename Region, typename Use>
DIOPI_HOST_DEVICE void for_bins_of(const Region* regions, int64_t count, const Maps& maps, const Bins& bins, int64_t at,
                                   Use&& use) {
    for (int64_t k = 0; k < count; ++k) {
        if (regions[k].image != at / maps.channels) {
            continue;
        }
        const int64_t first = (k * maps.channels + at % maps.channels) * bins.count();
        for (int64_t i = first; i < first + bins.count(); ++i) {
            use(i);
        }
    }
}

struct AddLargestOfBins {
    double* sums;
    const double* gradient;
    const double* rows;
    const double* columns;
    const SampledRegion* regions;
    int64_t count;
    Maps maps;
    Bins bins;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        for_bins_of(regions, count, maps, bins, at, [&](int64_t i) {
            if (rows[i] != -1) {
                add_sample(sums + at * maps.plane(), maps, rows[i], columns[i], gradient[i]);
            }
        });
    }
};

// How much a sample grows with y and x: 0 along a dimension in which it is before the first element, or not before the
// last.
struct Slope {
    double down;
    double across;
};

template <typename T>
DIOPI_HOST_DEVICE inline Slope slope_of(const T* map, const Maps& maps, double y, double x) {
    const Between row = between(y, maps.height);
    const Between column = between(x, maps.width);
    if (!row.is_inside || !column.is_inside) {
        return {0, 0};
    }
    const T* low = map + row.low * maps.width;
    const T* high = map + row.high * maps.width;
    const auto low_left = static_cast<double>(low[column.low]);
    const auto low_right = static_cast<double>(low[column.high]);
    const auto high_left = static_cast<double>(high[column.low]);
    const auto high_right = static_cast<double>(high[column.high]);
    const double left = low_left + row.rest * (high_left - low_left);
    const double right = low_right + row.rest * (high_right - low_right);
    const double above = low_left + column.rest * (low_right - low_left);
    const double below = high_left + column.rest * (high_right - high_left);
    return {y < 0 ? 0 : below - above, x < 0 ? 0 : right - left};
}

// An owner for each bin of each region.
template <typename T>
struct AddOffsets {
    double* sums;
    const double* gradient;
    const T* from;
    const SampledRegion* regions;
    Maps maps;
    Bins bins;
    Offsets offsets;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t k = at / bins.count();
        const int64_t bin = at % bins.count();
        const SampledRegion& region = regions[k];
        Slope sum{0, 0};
        for (int64_t channel = 0; channel < maps.channels; ++channel) {
            const T* map = from + (region.image * maps.channels + channel) * maps.plane();
            const double share = gradient[(k * maps.channels + channel) * bins.count() + bin];
            for_samples(region, bins, offsets, k, bin, [&](double y, double x) {
                const Slope slope = slope_of(map, maps, y, x);
                sum.down += share * slope.down;
                sum.across += share * slope.across;
            });
        }
        const double factor = region.count() == 0 ? 0 : offsets.gamma / static_cast<double>(region.count());
        sums[2 * k * bins.count() + bin] += factor * Offsets::extent_across(region, bins) * sum.across;
        sums[(2 * k + 1) * bins.count() + bin] += factor * Offsets::extent_down(region, bins) * sum.down;
    }
};

// ---- The sides of boxes: top and left from the first corner, bottom and right back from the second. ----

struct BoxSides {
    const double* boxes;  // (x1, y1, x2, y2)
    int64_t steps;

    // Where sample i of a side is, as (y, x).
    DIOPI_HOST_DEVICE Spot sample(int64_t box, int64_t side, int64_t i) const {
        const double* corners = boxes + 4 * box;
        const bool is_across = side % 2 == 0;
        const double length = is_across ? corners[2] - corners[0] : corners[3] - corners[1];
        const double way = (side < 2 ? length : -length) * static_cast<double>(i) / static_cast<double>(steps);
        const double* from = corners + (side < 2 ? 0 : 2);
        return {from[0] + (is_across ? way : 0), from[1] + (is_across ? 0 : way)};
    }
};

// [images, channels, boxes, 4], with a quarter of the channels of the maps for each side.
template <typename T>
struct LargestOnSides {
    double* to;
    Int32* numbers;
    const T* from;
    BoxSides sides;
    int64_t boxes;
    Maps maps;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t quarter = maps.channels / 4;
        const int64_t side = at % 4;
        const int64_t channel = at / 4 / boxes % quarter;
        const int64_t image = at / 4 / boxes / quarter;
        const T* map = from + (image * maps.channels + side * quarter + channel) * maps.plane();
        double best = 0;
        int64_t number = -1;
        for (int64_t i = 0; i <= sides.steps; ++i) {
            const Spot spot = sides.sample(image * boxes + at / 4 % boxes, side, i);
            const double found = Sample(maps, spot.y, spot.x).of(map);
            if (number < 0 || found > best) {
                best = found;
                number = i;
            }
        }
        to[at] = best;
        numbers[at] = Int32(static_cast<int32_t>(number));
    }
};

struct AddLargestOnSides {
    double* sums;
    const double* gradient;
    const Int32* numbers;
    BoxSides sides;
    int64_t boxes;
    Maps maps;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t quarter = maps.channels / 4;
        const int64_t side = at % maps.channels / quarter;
        const int64_t image = at / maps.channels;
        for (int64_t box = 0; box < boxes; ++box) {
            const int64_t i = ((image * quarter + at % quarter) * boxes + box) * 4 + side;
            const Spot spot = sides.sample(image * boxes + box, side, numbers[i].value);
            add_sample(sums + at * maps.plane(), maps, spot.y, spot.x, gradient[i]);
        }
    }
};

// ---- A box for each position of the maps: samples at its centre, or there and at its corners. ----

struct MakeBoxPoints {
    Spot* to;
    const double* boxes;  // (y, x, width, height, angle)
    double scale;
    int64_t points;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const double* box = boxes + 5 * at;
        const double cosine = numeric::cos(box[4]) * scale / 2;
        const double sine = numeric::sin(box[4]) * scale / 2;
        Spot* found = to + points * at;
        found[0] = {box[1] * scale, box[0] * scale};
        for (int64_t i = 1; i < points; ++i) {
            const double along = i == 1 || i == 4 ? box[2] : -box[2];
            const double across = i < 3 ? box[3] : -box[3];
            found[i] = {found[0].x + along * cosine - across * sine, found[0].y + along * sine + across * cosine};
        }
    }
};

template <typename T>
struct AddBoxPoints {
    double* to;
    const T* from;
    const Spot* spots;
    int64_t points;
    Maps maps;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t plane = at / maps.plane();
        const Spot* found = spots + points * (plane / maps.channels * maps.plane() + at % maps.plane());
        auto sum = static_cast<double>(from[at]);
        for (int64_t i = 0; i < points; ++i) {
            sum += Sample(maps, found[i].y, found[i].x).of(from + plane * maps.plane());
        }
        to[at] = sum;
    }
};

struct SpreadBoxPoints {
    double* sums;
    const double* gradient;
    const Spot* spots;
    int64_t points;
    Maps maps;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const Spot* found = spots + points * (at / maps.channels) * maps.plane();
        double* map = sums + at * maps.plane();
        for (int64_t i = 0; i < maps.plane(); ++i) {
            const double of_position = gradient[at * maps.plane() + i];
            map[i] += of_position;
            for (int64_t k = i * points; k < (i + 1) * points; ++k) {
                add_sample(map, maps, found[k].y, found[k].x, of_position);
            }
        }
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_SAMPLES_H_
