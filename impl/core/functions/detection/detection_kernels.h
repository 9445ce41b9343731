// What detection does to elements. Arguments have been checked. Each library has its own.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_DETECTION_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_DETECTION_KERNELS_H_

#include <algorithm>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/host_device.h"

namespace diopigen::core {

// ---- Nms. ----

// Boxes are (x1, y1, x2, y2). `offset` is 1 where corners are pixels that belong to a box, else 0.
DIOPI_HOST_DEVICE inline double box_area(const double* box, double offset) {
    return (box[2] - box[0] + offset) * (box[3] - box[1] + offset);
}

DIOPI_HOST_DEVICE inline double common_area(const double* a, const double* b, double offset) {
    const double width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]) + offset, 0.0);
    const double height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]) + offset, 0.0);
    return width * height;
}

// Whether the intersection of two boxes is more than `threshold` of their union, of boxes in an order. Two boxes
// without area do not overlap.
struct OverlapAxisAligned {
    const double* boxes;
    const int64_t* order;
    double threshold;
    double offset;

    DIOPI_HOST_DEVICE bool operator()(int64_t i, int64_t k) const {
        const double* a = boxes + 4 * order[i];
        const double* b = boxes + 4 * order[k];
        const double common = common_area(a, b, offset);
        const double both = box_area(a, offset) + box_area(b, offset) - common;
        return common / both > threshold;
    }
};

// The rows of boxes that overlap none of those selected before, from the highest score down: int64_t. A score that is
// no number counts as the highest, as in a descending sort.
Buffer keep_boxes(const Tensor& boxes, const Tensor& confidence, double threshold, int64_t offset, int64_t& found);
// The first `found` of rows in a buffer as a result of the call.
diopiTensorHandle_t rows_as_tensor(diopiContextHandle_t ctx, const Buffer& rows, int64_t found, const Tensor& like);

// ---- RoiAlign. ----

// How regions are cut into bins, over maps of height by width.
struct Grid {
    double scale;
    int64_t rows;
    int64_t columns;
    int64_t ratio;
    bool aligned;
    int64_t height;
    int64_t width;
};

// One dimension of a region: where it starts, how long a bin is, and samples per bin.
struct Side {
    double start;
    double bin;
    int64_t samples;
};

struct Region {
    int64_t image;
    Side vertical;
    Side horizontal;
};

// The two elements of a dimension that a position is between, and the weight of the second; none where it is more
// than one element outside.
struct Between {
    int64_t low = 0;
    int64_t high = 0;
    double rest = 0;
    bool is_inside = false;
};

DIOPI_HOST_DEVICE inline Between between(double position, int64_t size) {
    Between found;
    found.is_inside = size > 0 && position >= -1 && position <= static_cast<double>(size);
    if (found.is_inside) {
        const double inside = std::min(std::max(position, 0.0), static_cast<double>(size - 1));
        found.low = static_cast<int64_t>(inside);
        found.high = std::min(found.low + 1, size - 1);
        found.rest = inside - static_cast<double>(found.low);
    }
    return found;
}

DIOPI_HOST_DEVICE inline Between sample(const Side& side, int64_t bin, int64_t i, int64_t size) {
    const double within = (static_cast<double>(i) + 0.5) / static_cast<double>(side.samples);
    return between(side.start + side.bin * (static_cast<double>(bin) + within), size);
}

// The elements of a tensor on the host, in row-major order.
std::vector<double> numbers_of(const Tensor& tensor);

// Bins are averages of samples of the maps, [images, channels, height, width].
void average_regions(const Tensor& out, const Tensor& input, const Grid& grid, const std::vector<Region>& found);
// Gradients of bins, [regions, channels, rows, columns], add to those of the elements that they were averaged from.
void spread_regions(const Tensor& out, const Tensor& grad, const Grid& grid, const std::vector<Region>& found);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_DETECTION_KERNELS_H_
