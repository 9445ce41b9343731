// RoiAlign and its gradient: averages of bilinear samples over the bins of regions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "detection.h"
#include "detection_kernels.h"
#include "diopi_core/arguments.h"

using namespace diopigen::core;

namespace {

Side side(const Grid& grid, double first, double last, int64_t bins) {
    constexpr double kMostSamples = 1 << 20;
    const double shift = grid.aligned ? 0.5 : 0.0;
    const double start = first * grid.scale - shift;
    const double end = last * grid.scale - shift;
    const double extent = grid.aligned ? end - start : std::max(end - start, 1.0);
    const double bin = extent / static_cast<double>(bins);
    const double samples = grid.ratio > 0 ? static_cast<double>(grid.ratio) : std::ceil(bin);
    require(std::isfinite(start) && samples <= kMostSamples, "parameter 'rois' has a region without bounds");
    return {start, bin, static_cast<int64_t>(std::max(samples, 0.0))};
}

std::vector<Region> regions(const Grid& grid, const Tensor& rois, int64_t images) {
    const std::vector<double> values = numbers_of(rois);
    std::vector<Region> found;
    for (int64_t k = 0; k < rois.shape[0]; ++k) {
        const double* roi = values.data() + 5 * k;
        require(roi[0] >= 0 && roi[0] < static_cast<double>(images),
                "C2: the image of every region is at least 0 and below the number of images");
        found.push_back({static_cast<int64_t>(roi[0]), side(grid, roi[2], roi[4], grid.rows),
                         side(grid, roi[1], roi[3], grid.columns)});
    }
    return found;
}

}  // namespace

void diopigen::entry::roi_align(const RoiAlignArgs& args) {
    require_apart(args.out, {&args.input, &args.rois});
    const Grid grid{args.spatial_scale, args.pooled_height,  args.pooled_width,  args.sampling_ratio,
                    args.aligned,       args.input.shape[2], args.input.shape[3]};
    average_regions(args.out, args.input, grid, regions(grid, args.rois, args.input.shape[0]));
}

void diopigen::entry::roi_align_backward(const RoiAlignBackwardArgs& args) {
    require_apart(args.out, {&args.grad, &args.rois});
    const Grid grid{args.spatial_scale, args.pooled_height, args.pooled_width, args.sampling_ratio,
                    args.aligned,       args.height,        args.width};
    spread_regions(args.out, args.grad, grid, regions(grid, args.rois, args.batch_size));
}
