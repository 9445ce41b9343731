// Pooling of regions, for the libraries of all devices. `Each` is as in points.h. Regions are read on the host: how
// many samples a bin has depends on them.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_REGIONS_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_REGIONS_H_

#include <algorithm>
#include <cmath>
#include <vector>

#include "detection.h"
#include "detection/areas.h"
#include "detection/points.h"
#include "detection/samples.h"
#include "diopi_core/arguments.h"
#include "diopi_core/dense.h"
#include "indexing/positions.h"

namespace diopigen::core {

inline Maps maps_of(const Tensor& tensor) { return {tensor.shape[1], tensor.shape[2], tensor.shape[3]}; }

inline Offsets no_offsets() { return {nullptr, 0}; }

inline int64_t image_of(double number, int64_t images) {
    require(number >= 0 && number < static_cast<double>(images),
            "the index of every region is at least 0 and below the number of images");
    return static_cast<int64_t>(number);
}

inline Side sampled_side(double start, double extent, int64_t bins, int64_t ratio) {
    constexpr double kMostSamples = 1 << 20;
    const double bin = extent / static_cast<double>(bins);
    const double samples = ratio > 0 ? static_cast<double>(ratio) : std::ceil(bin);
    require(std::isfinite(start) && samples <= kMostSamples, "parameter 'rois' has a region without bounds");
    return {start, bin, static_cast<int64_t>(std::max(samples, 0.0))};
}

template <typename V>
class Regions {
  public:
    explicit Regions(const std::vector<V>& list)
        : count_(static_cast<int64_t>(list.size())), memory_(list_for_kernels(list)) {}
    int64_t count() const { return count_; }
    const V* data() const { return static_cast<const V*>(memory_.data()); }

  private:
    int64_t count_;
    Buffer memory_;
};

// (image, x1, y1, x2, y2), in coordinates that `scale` takes to the maps.
struct Sampling {
    double scale;
    Bins bins;
    int64_t ratio;
    bool aligned;
};

inline Regions<SampledRegion> upright_regions(const Tensor& rois, int64_t images, const Sampling& sampling,
                                              bool checks_order) {
    const std::vector<double> numbers = numbers_of(rois);
    std::vector<SampledRegion> found;
    const double shift = sampling.aligned ? 0.5 : 0.0;
    const auto side = [&](double first, double last, int64_t bins) {
        require(!checks_order || !sampling.aligned || last >= first,
                "x2 and y2 are not below x1 and y1 when aligned is true");
        const double extent = (last - first) * sampling.scale;
        return sampled_side(first * sampling.scale - shift, sampling.aligned ? extent : std::max(extent, 1.0), bins,
                            sampling.ratio);
    };
    for (int64_t k = 0; k < rois.shape[0]; ++k) {
        const double* roi = numbers.data() + 5 * k;
        found.push_back({image_of(roi[0], images), side(roi[2], roi[4], sampling.bins.rows),
                         side(roi[1], roi[3], sampling.bins.columns), 0, 0, 1, 0, 0, 0});
    }
    return Regions<SampledRegion>(found);
}

// (image, x, y, width, height, angle). `orientations` above 1: their channels turn with the region.
inline Regions<SampledRegion> rotated_regions(const Tensor& rois, int64_t images, const Sampling& sampling,
                                              bool clockwise, int64_t orientations) {
    constexpr double kTurn = 6.283185307179586;
    const std::vector<double> numbers = numbers_of(rois);
    std::vector<SampledRegion> found;
    const bool is_oriented = orientations > 0;
    const double shift = sampling.aligned && !is_oriented ? 0.5 : 0.0;
    const auto side = [&](double extent, int64_t bins) {
        require(!sampling.aligned || is_oriented || extent >= 0, "no width or height is negative when aligned is true");
        const double scaled = extent * sampling.scale;
        const double used = sampling.aligned && !is_oriented ? scaled : std::max(scaled, 1.0);
        return sampled_side(-used / 2, used, bins, sampling.ratio);
    };
    for (int64_t k = 0; k < rois.shape[0]; ++k) {
        const double* roi = numbers.data() + 6 * k;
        const double angle = clockwise ? -roi[5] : roi[5];
        require(std::isfinite(roi[5]), "parameter 'rois' has a region without bounds");
        const double steps = roi[5] * static_cast<double>(orientations) / kTurn;
        const double turn = std::floor(steps);
        const double within = is_oriented ? turn - std::floor(turn / static_cast<double>(orientations)) *
                                                       static_cast<double>(orientations)
                                          : 0;
        found.push_back({image_of(roi[0], images), side(roi[4], sampling.bins.rows),
                         side(roi[3], sampling.bins.columns), roi[2] * sampling.scale - shift,
                         roi[1] * sampling.scale - shift, std::cos(angle), std::sin(angle),
                         static_cast<int64_t>(within), is_oriented ? steps - turn : 0});
    }
    return Regions<SampledRegion>(found);
}

template <typename Each>
void average_bins(const Each& each, const Tensor& out, const Tensor& input, const Regions<SampledRegion>& regions,
                  const Bins& bins, const Offsets& offsets, int64_t orientations) {
    const Output<double> means(out);
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> features(input);
        const AverageBins<T> body{means.data(), features.data(), regions.data(), maps_of(input),
                                  bins,         offsets,         orientations};
        each.rows(regions.count() * bins.count(), row_blocks(body.maps.channels), kRowBlock * 64, body);
    });
    means.store();
}

template <typename Each>
void add_averaged_bins(const Each& each, const Tensor& target, const Tensor& gradient,
                       const Regions<SampledRegion>& regions, const Bins& bins, const Offsets& offsets,
                       int64_t orientations) {
    const Input<double> grad_out(gradient);
    const Sums sums(target);
    each(target.shape[0] * target.shape[1], 1 + 64 * regions.count() * bins.count(),
         AddAveragedBins{sums.data(), grad_out.data(), regions.data(), regions.count(), maps_of(target), bins, offsets,
                         orientations});
    sums.store();
}

// ---- RoiAlign. ----

template <typename Each>
void align_regions(const Each& each, const entry::RoiAlignMmcvArgs& args) {
    const Bins bins{args.aligned_height, args.aligned_width};
    const Sampling sampling{static_cast<double>(args.spatial_scale), bins, args.sampling_ratio, args.aligned};
    if (args.pool_mode == 1) {
        require_apart(args.output, {&args.input, &args.rois});
    } else {
        require_separate({&args.output, &args.argmax_y, &args.argmax_x}, {&args.input, &args.rois});
    }
    const auto regions = upright_regions(args.rois, args.input.shape[0], sampling, true);
    if (args.pool_mode == 1) {
        average_bins(each, args.output, args.input, regions, bins, no_offsets(), 1);
        return;
    }
    const Output<double> largest(args.output);
    const Output<double> rows(args.argmax_y);
    const Output<double> columns(args.argmax_x);
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> features(args.input);
        each(args.output.numel, 256,
             LargestInBins<T>{largest.data(), rows.data(), columns.data(), features.data(), regions.data(),
                              maps_of(args.input), bins});
    });
    largest.store();
    rows.store();
    columns.store();
}

template <typename Each>
void align_regions_backward(const Each& each, const entry::RoiAlignBackwardMmcvArgs& args) {
    const Bins bins{args.aligned_height, args.aligned_width};
    const Sampling sampling{static_cast<double>(args.spatial_scale), bins, args.sampling_ratio, args.aligned};
    require_apart(args.grad_input, {&args.grad_output, &args.rois, &args.argmax_y, &args.argmax_x});
    const auto regions = upright_regions(args.rois, args.grad_input.shape[0], sampling, true);
    if (args.pool_mode == 1) {
        add_averaged_bins(each, args.grad_input, args.grad_output, regions, bins, no_offsets(), 1);
        return;
    }
    const Input<double> gradient(args.grad_output);
    const Input<double> rows(args.argmax_y);
    const Input<double> columns(args.argmax_x);
    const Sums sums(args.grad_input);
    each(args.grad_input.shape[0] * args.grad_input.shape[1], 1 + 32 * regions.count() * bins.count(),
         AddLargestOfBins{sums.data(), gradient.data(), rows.data(), columns.data(), regions.data(), regions.count(),
                          maps_of(args.grad_input), bins});
    sums.store();
}

// ---- RoiAlignRotated, RiroiAlignRotated. ----

template <typename Args>
Regions<SampledRegion> rotated_regions_of(const Args& args, int64_t images) {
    const Sampling sampling{static_cast<double>(args.spatial_scale), Bins{args.aligned_height, args.aligned_width},
                            args.sampling_ratio, args.aligned};
    return rotated_regions(args.rois, images, sampling, args.clockwise, 0);
}

template <typename Args>
Regions<SampledRegion> oriented_regions_of(const Args& args, int64_t images) {
    const Sampling sampling{static_cast<double>(args.spatial_scale), Bins{args.pooled_height, args.pooled_width},
                            args.num_samples, false};
    return rotated_regions(args.rois, images, sampling, args.clockwise, args.num_orientations);
}

template <typename Each>
void roi_align_rotated(const Each& each, const entry::RoiAlignRotatedMmcvArgs& args) {
    require_apart(args.output, {&args.input, &args.rois});
    const Bins bins{args.aligned_height, args.aligned_width};
    const auto regions = rotated_regions_of(args, args.input.shape[0]);
    average_bins(each, args.output, args.input, regions, bins, no_offsets(), 1);
}

template <typename Each>
void roi_align_rotated_backward(const Each& each, const entry::RoiAlignRotatedBackwardMmcvArgs& args) {
    require_apart(args.bottom_grad, {&args.top_grad, &args.rois});
    const Bins bins{args.aligned_height, args.aligned_width};
    const auto regions = rotated_regions_of(args, args.bottom_grad.shape[0]);
    add_averaged_bins(each, args.bottom_grad, args.top_grad, regions, bins, no_offsets(), 1);
}

template <typename Each>
void riroi_align_rotated(const Each& each, const entry::RiroiAlignRotatedMmcvArgs& args) {
    require_apart(args.output, {&args.features, &args.rois});
    const Bins bins{args.pooled_height, args.pooled_width};
    const auto regions = oriented_regions_of(args, args.features.shape[0]);
    average_bins(each, args.output, args.features, regions, bins, no_offsets(), args.num_orientations);
}

template <typename Each>
void riroi_align_rotated_backward(const Each& each, const entry::RiroiAlignRotatedBackwardMmcvArgs& args) {
    require_apart(args.bottom_grad, {&args.top_grad, &args.rois});
    const Bins bins{args.pooled_height, args.pooled_width};
    const auto regions = oriented_regions_of(args, args.bottom_grad.shape[0]);
    add_averaged_bins(each, args.bottom_grad, args.top_grad, regions, bins, no_offsets(), args.num_orientations);
}

// ---- DeformRoiPool. ----

template <typename Each>
void deform_roi_pool(const Each& each, const entry::DeformRoiPoolMmcvArgs& args) {
    require_apart(args.output, {&args.input, &args.rois, &args.offset});
    const Bins bins{args.pooled_height, args.pooled_width};
    const Sampling sampling{static_cast<double>(args.spatial_scale), bins, args.sampling_ratio, true};
    const auto regions = upright_regions(args.rois, args.input.shape[0], sampling, false);
    const Input<double> offset(args.offset);
    const Offsets offsets{args.offset.numel == 0 ? nullptr : offset.data(), static_cast<double>(args.gamma)};
    average_bins(each, args.output, args.input, regions, bins, offsets, 1);
}

template <typename Each>
void deform_roi_pool_backward(const Each& each, const entry::DeformRoiPoolBackwardMmcvArgs& args) {
    require_separate({&args.grad_input, &args.grad_offset}, {&args.grad_output, &args.input, &args.rois, &args.offset});
    const Bins bins{args.pooled_height, args.pooled_width};
    const Sampling sampling{static_cast<double>(args.spatial_scale), bins, args.sampling_ratio, true};
    const auto regions = upright_regions(args.rois, args.input.shape[0], sampling, false);
    const Input<double> offset(args.offset);
    const bool has_offset = args.offset.numel > 0;
    const Offsets offsets{has_offset ? offset.data() : nullptr, static_cast<double>(args.gamma)};
    add_averaged_bins(each, args.grad_input, args.grad_output, regions, bins, offsets, 1);
    if (has_offset) {
        const Input<double> gradient(args.grad_output);
        const Sums sums(args.grad_offset);
        dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> features(args.input);
            each(regions.count() * bins.count(), 1 + 256 * args.input.shape[1],
                 AddOffsets<T>{sums.data(), gradient.data(), features.data(), regions.data(), maps_of(args.input), bins,
                               offsets});
        });
        sums.store();
    }
}

// ---- BorderAlign. ----

template <typename Each>
void border_align(const Each& each, const entry::BorderAlignMmcvArgs& args) {
    require_separate({&args.output, &args.argmax_idx}, {&args.input, &args.boxes});
    const Input<double> boxes(args.boxes);
    const Output<double> largest(args.output);
    const Output<Int32> numbers(args.argmax_idx);
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> features(args.input);
        each(args.output.numel, 16 * args.pool_size,
             LargestOnSides<T>{largest.data(), numbers.data(), features.data(), BoxSides{boxes.data(), args.pool_size},
                               args.boxes.shape[1], maps_of(args.input)});
    });
    largest.store();
    numbers.store();
}

template <typename Each>
void border_align_backward(const Each& each, const entry::BorderAlignBackwardMmcvArgs& args) {
    require_apart(args.grad_input, {&args.grad_output, &args.boxes, &args.argmax_idx});
    const Input<double> gradient(args.grad_output);
    const Input<double> boxes(args.boxes);
    const Input<Int32> numbers(args.argmax_idx);
    const Sums sums(args.grad_input);
    each(args.grad_input.shape[0] * args.grad_input.shape[1], 16 * args.boxes.shape[1],
         AddLargestOnSides{sums.data(), gradient.data(), numbers.data(), BoxSides{boxes.data(), args.pool_size},
                           args.boxes.shape[1], maps_of(args.grad_input)});
    sums.store();
}

// ---- RotatedFeatureAlign. ----

template <typename Each>
Buffer box_points(const Each& each, const Tensor& bboxes, double scale, int64_t points) {
    const Input<double> boxes(bboxes);
    const int64_t count = bboxes.shape[0] * bboxes.shape[1] * bboxes.shape[2];
    Buffer memory;
    memory.allocate(count * points * static_cast<int64_t>(sizeof(Spot)));
    each(count, 64, MakeBoxPoints{static_cast<Spot*>(memory.data()), boxes.data(), scale, points});
    return memory;
}

template <typename Each>
void rotated_feature_align(const Each& each, const entry::RotatedFeatureAlignMmcvArgs& args) {
    require_apart(args.output, {&args.features, &args.best_bboxes});
    const Buffer spots = box_points(each, args.best_bboxes, static_cast<double>(args.spatial_scale), args.points);
    const Output<double> sums(args.output);
    dispatch_compute<kFloating>(args.features.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> features(args.features);
        each(args.output.numel, 16 * args.points,
             AddBoxPoints<T>{sums.data(), features.data(), static_cast<const Spot*>(spots.data()), args.points,
                             maps_of(args.features)});
    });
    sums.store();
}

template <typename Each>
void rotated_feature_align_backward(const Each& each, const entry::RotatedFeatureAlignBackwardMmcvArgs& args) {
    require_apart(args.bottom_grad, {&args.top_grad, &args.best_bboxes});
    const Buffer spots = box_points(each, args.best_bboxes, static_cast<double>(args.spatial_scale), args.points);
    const Input<double> gradient(args.top_grad);
    const Sums sums(args.bottom_grad);
    const Maps maps = maps_of(args.bottom_grad);
    each(args.bottom_grad.shape[0] * maps.channels, 16 * args.points * maps.plane(),
         SpreadBoxPoints{sums.data(), gradient.data(), static_cast<const Spot*>(spots.data()), args.points, maps});
    sums.store();
}

// ---- RoiPool, PrroiPool. ----

// `last` is what the second corners have more than is written.
inline Regions<PlainRegion> plain_regions(const Tensor& rois, int64_t images, double scale, double last) {
    const std::vector<double> numbers = numbers_of(rois);
    std::vector<PlainRegion> found;
    for (int64_t k = 0; k < rois.shape[0]; ++k) {
        const double* roi = numbers.data() + 5 * k;
        const double x = roi[1] * scale;
        const double y = roi[2] * scale;
        found.push_back({image_of(roi[0], images), y, x, (roi[4] + last) * scale - y, (roi[3] + last) * scale - x});
        const PlainRegion& region = found.back();
        require(std::isfinite(x) && std::isfinite(y) && std::isfinite(region.width) && std::isfinite(region.height),
                "parameter 'rois' has a region without bounds");
    }
    return Regions<PlainRegion>(found);
}

template <typename Each>
void roi_pool(const Each& each, const entry::RoiPoolMmcvArgs& args) {
    require_separate({&args.output, &args.argmax}, {&args.input, &args.rois});
    const auto regions = plain_regions(args.rois, args.input.shape[0], static_cast<double>(args.spatial_scale), 1);
    const Changed positions(args.argmax, Dtype::kInt32);
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> features(args.input);
        const Changed largest(args.output, dtype_of<T>);
        each(args.output.numel, 64,
             LargestElements<T>{largest.template as<T>(), positions.as<Int32>(), features.data(), regions.data(),
                                maps_of(args.input), Bins{args.pooled_height, args.pooled_width}});
        largest.store();
    });
    positions.store();
}

template <typename Each>
void roi_pool_backward(const Each& each, const entry::RoiPoolBackwardMmcvArgs& args) {
    require_apart(args.grad_input, {&args.grad_output, &args.rois, &args.argmax});
    const auto regions = plain_regions(args.rois, args.grad_input.shape[0], 0, 0);
    const Maps maps = maps_of(args.grad_input);
    const Input<Int64> positions(args.argmax);
    check_positions(args.argmax, positions, -1, maps.plane());
    const Input<double> gradient(args.grad_output);
    const Sums sums(args.grad_input);
    const Bins bins{args.pooled_height, args.pooled_width};
    each(args.grad_input.shape[0] * maps.channels, 1 + regions.count() * bins.count(),
         AddLargestElements{sums.data(), gradient.data(), positions.data(), regions.data(), regions.count(), maps,
                            bins});
    sums.store();
}

template <typename Each>
void prroi_pool(const Each& each, const entry::PrroiPoolMmcvArgs& args) {
    require_apart(args.output, {&args.input, &args.rois});
    const auto regions = plain_regions(args.rois, args.input.shape[0], static_cast<double>(args.spatial_scale), 0);
    const Input<float> features(args.input);
    const Output<double> means(args.output);
    each(args.output.numel, 256,
         IntegrateBins<float>{means.data(), features.data(), regions.data(), maps_of(args.input),
                              Bins{args.pooled_height, args.pooled_width}});
    means.store();
}

template <typename Each>
void prroi_pool_backward(const Each& each, const entry::PrroiPoolbackwardMmcvArgs& args) {
    require_apart(args.grad_input, {&args.grad_output, &args.rois});
    const auto regions = plain_regions(args.rois, args.grad_input.shape[0], static_cast<double>(args.spatial_scale), 0);
    const Input<double> gradient(args.grad_output);
    const Sums sums(args.grad_input);
    const Bins bins{args.pooled_height, args.pooled_width};
    each(args.grad_input.shape[0] * args.grad_input.shape[1], 1 + 256 * regions.count() * bins.count(),
         AddIntegratedBins{sums.data(), gradient.data(), regions.data(), regions.count(), maps_of(args.grad_input),
                           bins});
    sums.store();
}

template <typename Each>
void prroi_pool_coor_backward(const Each& each, const entry::PrroiPoolCoorBackwardMmcvArgs& args) {
    require_apart(args.grad_rois, {&args.output, &args.grad_output, &args.input, &args.rois});
    const auto scale = static_cast<double>(args.spatial_scale);
    const auto regions = plain_regions(args.rois, args.input.shape[0], scale, 0);
    const Input<double> means(args.output);
    const Input<double> gradient(args.grad_output);
    const Input<float> features(args.input);
    const Sums sums(args.grad_rois);
    const Bins bins{args.pooled_height, args.pooled_width};
    each(regions.count(), 1 + 512 * args.input.shape[1] * bins.count(),
         AddCorners<float>{sums.data(), means.data(), gradient.data(), features.data(), regions.data(),
                           maps_of(args.input), bins, scale});
    sums.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_REGIONS_H_
