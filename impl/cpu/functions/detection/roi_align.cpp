// RoiAlign and its gradient: averages of bilinear samples over the bins of regions.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kAllowed = kFloat16 | kFloat32 | kFloat64;

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
                "C2: parameter 'rois' has an image that is not in the batch");
        found.push_back({static_cast<int64_t>(roi[0]), side(grid, roi[2], roi[4], grid.rows),
                         side(grid, roi[1], roi[3], grid.columns)});
    }
    return found;
}

void check(const Grid& grid, const Tensor& rois, const Tensor& like) {
    require(grid.rows >= 1 && grid.columns >= 1, "parameters 'pooled_height' and 'pooled_width' must be at least 1");
    require_same_dtype(rois, like);
    require_rank(rois, 2, 2);
    require_shape(rois, {rois.shape[0], 5});
    require(rois.shape[0] == 0 || (grid.height >= 1 && grid.width >= 1),
            "C3: the feature maps have at least one pixel where 'rois' has regions");
}

}  // namespace

DIOPI_API diopiError_t diopiRoiAlign(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                     diopiConstTensorHandle_t rois, double spatial_scale, int64_t pooled_height,
                                     int64_t pooled_width, int64_t sampling_ratio, bool aligned) {
    return guarded("diopiRoiAlign", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAllowed);
        const Tensor input_tensor = tensor("input", input, kAllowed);
        const Tensor rois_tensor = tensor("rois", rois, kAllowed);
        require_rank(input_tensor, 4, 4);
        const int64_t channels = input_tensor.shape[1];
        const Grid grid{spatial_scale, pooled_height,         pooled_width,         sampling_ratio,
                        aligned,       input_tensor.shape[2], input_tensor.shape[3]};
        check(grid, rois_tensor, input_tensor);
        require_same_dtype(out_tensor, input_tensor);
        require_shape(out_tensor, {rois_tensor.shape[0], channels, pooled_height, pooled_width});
        require_one_device({&out_tensor, &input_tensor, &rois_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        require_disjoint(out_tensor, rois_tensor);
        const std::vector<Region> found = regions(grid, rois_tensor, input_tensor.shape[0]);
        average_regions(out_tensor, input_tensor, grid, found);
    });
}

DIOPI_API diopiError_t diopiRoiAlignBackward(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                             diopiConstTensorHandle_t grad, diopiConstTensorHandle_t rois,
                                             double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                                             int64_t batch_size, int64_t channels, int64_t height, int64_t width,
                                             int64_t sampling_ratio, bool aligned) {
    return guarded("diopiRoiAlignBackward", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kAllowed);
        const Tensor grad_tensor = tensor("grad", grad, kAllowed);
        const Tensor rois_tensor = tensor("rois", rois, kAllowed);
        const Grid grid{spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned, height, width};
        check(grid, rois_tensor, grad_tensor);
        require_shape(grad_tensor, {rois_tensor.shape[0], channels, pooled_height, pooled_width});
        require_same_dtype(out_tensor, grad_tensor);
        require_shape(out_tensor, {batch_size, channels, height, width});
        require_one_device({&out_tensor, &grad_tensor, &rois_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, grad_tensor);
        require_disjoint(out_tensor, rois_tensor);
        const std::vector<Region> found = regions(grid, rois_tensor, batch_size);
        spread_regions(out_tensor, grad_tensor, grid, found);
    });
}
