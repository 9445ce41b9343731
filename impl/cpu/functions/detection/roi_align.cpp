// RoiAlign and its gradient: averages of bilinear samples over the bins of regions.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/threads.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kAllowed = kFloat16 | kFloat32 | kFloat64;

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

struct Region {
    int64_t image;
    Side vertical;
    Side horizontal;
};

std::vector<Region> regions(const Grid& grid, const Tensor& rois, int64_t images) {
    const Input<double> values(rois);
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

// The two elements of a dimension that a position lies between, and the weight of the second; none where it is more
// than one element outside.
struct Between {
    int64_t low = 0;
    int64_t high = 0;
    double rest = 0;
    bool is_inside = false;
};

Between between(double position, int64_t size) {
    Between found;
    found.is_inside = position >= -1 && position <= static_cast<double>(size);
    if (found.is_inside) {
        const double inside = std::min(std::max(position, 0.0), static_cast<double>(size - 1));
        found.low = static_cast<int64_t>(inside);
        found.high = std::min(found.low + 1, size - 1);
        found.rest = inside - static_cast<double>(found.low);
    }
    return found;
}

Between sample(const Side& side, int64_t bin, int64_t i, int64_t size) {
    const double within = (static_cast<double>(i) + 0.5) / static_cast<double>(side.samples);
    return between(side.start + side.bin * (static_cast<double>(bin) + within), size);
}

struct Share {
    int64_t at;
    double weight;
};

// What a bin averages: elements of the map with their weights.
void find_shares(const Grid& grid, const Region& region, int64_t row, int64_t column, std::vector<Share>& found) {
    found.clear();
    const int64_t count = std::max<int64_t>(region.vertical.samples * region.horizontal.samples, 1);
    const double part = 1.0 / static_cast<double>(count);
    for (int64_t i = 0; i < region.vertical.samples; ++i) {
        const Between y = sample(region.vertical, row, i, grid.height);
        for (int64_t k = 0; y.is_inside && k < region.horizontal.samples; ++k) {
            const Between x = sample(region.horizontal, column, k, grid.width);
            if (x.is_inside) {
                found.push_back({y.low * grid.width + x.low, (1 - y.rest) * (1 - x.rest) * part});
                found.push_back({y.low * grid.width + x.high, (1 - y.rest) * x.rest * part});
                found.push_back({y.high * grid.width + x.low, y.rest * (1 - x.rest) * part});
                found.push_back({y.high * grid.width + x.high, y.rest * x.rest * part});
            }
        }
    }
}

void check(const Grid& grid, const Tensor& rois, const Tensor& like) {
    require(grid.rows >= 1 && grid.columns >= 1,
            "C1: parameters 'pooled_height' and 'pooled_width' must be at least 1");
    require(grid.height >= 1 && grid.width >= 1, "parameter 'height' or 'width' of the feature maps is less than 1");
    require_same_dtype(rois, like);
    require_rank(rois, 2, 2);
    require_shape(rois, {rois.shape[0], 5});
}

}  // namespace

DIOPI_API diopiError_t diopiRoiAlign(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t rois,
                                     double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                                     int64_t sampling_ratio, bool aligned) {
    return guarded("diopiRoiAlign", [&] {
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
        dispatch_compute<kAllowed>(input_tensor.dtype, [&](auto type) {
            using T = decltype(type);
            const Input<T> features(input_tensor);
            const Output<T> results(out_tensor);
            const int64_t bins = grid.rows * grid.columns;
            const int64_t plane = grid.height * grid.width;
            parallel_for(rois_tensor.shape[0] * bins, 1 + 1024 / (channels + 8), [&](int64_t begin, int64_t end) {
                std::vector<Share> shares;
                for (int64_t i = begin; i < end; ++i) {
                    const Region& region = found[i / bins];
                    find_shares(grid, region, i % bins / grid.columns, i % grid.columns, shares);
                    for (int64_t channel = 0; channel < channels; ++channel) {
                        const T* from = features.data() + (region.image * channels + channel) * plane;
                        double sum = 0;
                        for (const Share& share : shares) {
                            sum += share.weight * from[share.at];
                        }
                        results[(i / bins * channels + channel) * bins + i % bins] = static_cast<T>(sum);
                    }
                }
            });
            results.store();
        });
    });
}

DIOPI_API diopiError_t diopiRoiAlignBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                             diopiConstTensorHandle_t grad, diopiConstTensorHandle_t rois,
                                             double spatial_scale, int64_t pooled_height, int64_t pooled_width,
                                             int64_t batch_size, int64_t channels, int64_t height, int64_t width,
                                             int64_t sampling_ratio, bool aligned) {
    return guarded("diopiRoiAlignBackward", [&] {
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
        dispatch_compute<kAllowed>(grad_tensor.dtype, [&](auto type) {
            using T = decltype(type);
            const Input<T> gradient(grad_tensor);
            const Output<T> results(out_tensor);
            const int64_t bins = grid.rows * grid.columns;
            const int64_t plane = height * width;
            // A channel belongs to one part, so that sums do not depend on the number of threads.
            parallel_for(channels, 1, [&](int64_t begin, int64_t end) {
                std::vector<double> sums(static_cast<size_t>(batch_size * (end - begin) * plane), 0.0);
                std::vector<Share> shares;
                for (int64_t i = 0; i < rois_tensor.shape[0] * bins; ++i) {
                    const Region& region = found[i / bins];
                    find_shares(grid, region, i % bins / grid.columns, i % grid.columns, shares);
                    for (int64_t channel = begin; channel < end; ++channel) {
                        const double arriving = gradient[(i / bins * channels + channel) * bins + i % bins];
                        double* to = sums.data() + (region.image * (end - begin) + channel - begin) * plane;
                        for (const Share& share : shares) {
                            to[share.at] += share.weight * arriving;
                        }
                    }
                }
                for (int64_t i = 0; i < batch_size * (end - begin); ++i) {
                    const int64_t channel = begin + i % (end - begin);
                    T* to = results.data() + (i / (end - begin) * channels + channel) * plane;
                    std::transform(sums.data() + i * plane, sums.data() + (i + 1) * plane, to,
                                   [](double sum) { return static_cast<T>(sum); });
                }
            });
            results.store();
        });
    });
}
