// Bilinear samples of maps that are zero outside: at a position more than one pixel outside, or exactly one, nothing is
// read. The derivative at an integral position is that towards higher ones.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_BILINEAR_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_BILINEAR_H_

#include <cstdint>

#include "detection/row_blocks.h"
#include "diopi_core/clones.h"
#include "diopi_core/host_device.h"

namespace diopigen::core {

// A map whose neighbouring pixels are `stride` elements apart.
struct PixelMap {
    int64_t height;
    int64_t width;
    int64_t stride;
};

// The four pixels around a position, by the upper left one, and how far the position is from it.
class Around {
  public:
    DIOPI_HOST_DEVICE Around(double y, double x, const PixelMap& map)
        : map_(map),
          is_inside_(y > -1 && x > -1 && y < static_cast<double>(map.height) && x < static_cast<double>(map.width)) {
        if (is_inside_) {
            const double top = numeric::floor(y);
            const double left = numeric::floor(x);
            top_ = static_cast<int64_t>(top);
            left_ = static_cast<int64_t>(left);
            down_ = y - top;
            right_ = x - left;
        }
    }

    DIOPI_HOST_DEVICE double value(const double* plane) const {
        return !is_inside_ ? 0
                           : (1 - down_) * ((1 - right_) * pixel(plane, 0, 0) + right_ * pixel(plane, 0, 1)) +
                                 down_ * ((1 - right_) * pixel(plane, 1, 0) + right_ * pixel(plane, 1, 1));
    }
    // Adds the weighted values of kCount planes whose elements are adjacent.
    template <int64_t kCount>
    DIOPI_HOST_DEVICE void add_values(double weight, const double* planes, double* sums) const {
        if (!is_inside_) {
            return;
        }
        const double zeros[kCount] = {};
        const auto pixels = [&](int64_t row, int64_t column) {
            return has(row, column) ? planes + at(row, column) : zeros;
        };
        const double* const upper_left = pixels(0, 0);
        const double* const upper_right = pixels(0, 1);
        const double* const lower_left = pixels(1, 0);
        const double* const lower_right = pixels(1, 1);
        DIOPI_CPU_UNROLLED
        for (int64_t part = 0; part < kCount; part += kRowPart<kCount>) {
            DIOPI_CPU_ROLLED
            for (int64_t i = part; i < part + kRowPart<kCount>; ++i) {
                sums[i] += weight * ((1 - down_) * ((1 - right_) * upper_left[i] + right_ * upper_right[i]) +
                                     down_ * ((1 - right_) * lower_left[i] + right_ * lower_right[i]));
            }
        }
    }
    // The derivatives of the value.
    DIOPI_HOST_DEVICE double slope_down(const double* plane) const {
        return !is_inside_ ? 0
                           : (1 - right_) * (pixel(plane, 1, 0) - pixel(plane, 0, 0)) +
                                 right_ * (pixel(plane, 1, 1) - pixel(plane, 0, 1));
    }
    DIOPI_HOST_DEVICE double slope_right(const double* plane) const {
        return !is_inside_ ? 0
                           : (1 - down_) * (pixel(plane, 0, 1) - pixel(plane, 0, 0)) +
                                 down_ * (pixel(plane, 1, 1) - pixel(plane, 1, 0));
    }
    // Adds the gradient of the value to those of the pixels.
    DIOPI_HOST_DEVICE void add(double* plane, double gradient) const {
        if (is_inside_) {
            add_to(plane, 0, 0, (1 - down_) * (1 - right_) * gradient);
            add_to(plane, 0, 1, (1 - down_) * right_ * gradient);
            add_to(plane, 1, 0, down_ * (1 - right_) * gradient);
            add_to(plane, 1, 1, down_ * right_ * gradient);
        }
    }

  private:
    DIOPI_HOST_DEVICE bool has(int64_t row, int64_t column) const {
        return top_ + row >= 0 && top_ + row < map_.height && left_ + column >= 0 && left_ + column < map_.width;
    }
    DIOPI_HOST_DEVICE int64_t at(int64_t row, int64_t column) const {
        return ((top_ + row) * map_.width + left_ + column) * map_.stride;
    }
    DIOPI_HOST_DEVICE double pixel(const double* plane, int64_t row, int64_t column) const {
        return has(row, column) ? plane[at(row, column)] : 0;
    }
    DIOPI_HOST_DEVICE void add_to(double* plane, int64_t row, int64_t column, double part) const {
        if (has(row, column)) {
            plane[at(row, column)] += part;
        }
    }

    PixelMap map_;
    bool is_inside_;
    int64_t top_ = 0;
    int64_t left_ = 0;
    double down_ = 0;
    double right_ = 0;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_BILINEAR_H_
