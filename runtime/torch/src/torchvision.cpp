// The operators that detection libraries look up under the name of torchvision. Its own library defines their schemas,
// gradients and compositions; where it is not loaded, these kernels wait for a schema that does not come.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/custom.h>

#include <tuple>

namespace diopigen::backend {

namespace {

using at::Tensor;

template <typename Signature>
c10::TypedOperatorHandle<Signature> operator_of(const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

Tensor nms(const Tensor& dets, const Tensor& scores, double iou_threshold) {
    static const auto op = operator_of<Tensor(const Tensor&, const Tensor&, double)>("diopi::nms");
    return op.call(dets, scores, iou_threshold);
}

Tensor roi_align(const Tensor& input, const Tensor& rois, double spatial_scale, c10::SymInt pooled_height,
                 c10::SymInt pooled_width, int64_t sampling_ratio, bool aligned) {
    using Signature = Tensor(const Tensor&, const Tensor&, double, c10::SymInt, c10::SymInt, int64_t, bool);
    static const auto op = operator_of<Signature>("diopi::roi_align");
    return op.call(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned);
}

Tensor roi_align_backward(const Tensor& grad, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                          int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height, int64_t width,
                          int64_t sampling_ratio, bool aligned) {
    using Signature = Tensor(const Tensor&, const Tensor&, double, int64_t, int64_t, c10::SymInt, c10::SymInt,
                             c10::SymInt, c10::SymInt, int64_t, bool);
    static const auto op = operator_of<Signature>("diopi::roi_align_backward");
    return op.call(grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width,
                   sampling_ratio, aligned);
}

// Halves go away from zero, as C's round has it; at::round takes them to the even neighbour.
Tensor rounded_corners(const Tensor& rois, double spatial_scale) {
    const Tensor scaled = rois.narrow(1, 1, 4).mul(spatial_scale);
    return scaled.abs().add(0.5).floor().mul(scaled.sign());
}

// torchvision rounds corners to pixels and gives each region at least one; diopiRoiPoolMmcv does neither, so it gets
// regions of whole pixels of the feature map.
Tensor whole_pixels(const Tensor& rois, double spatial_scale) {
    TORCH_CHECK(rois.dim() == 2 && rois.size(1) == 5, "rois must have the shape [K, 5]");
    const Tensor corners = rounded_corners(rois, spatial_scale);
    const Tensor first = corners.narrow(1, 0, 2);
    return at::cat({rois.narrow(1, 0, 1), first, at::maximum(corners.narrow(1, 2, 2), first)}, 1);
}

std::tuple<Tensor, Tensor> roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                                    c10::SymInt pooled_height, c10::SymInt pooled_width) {
    using Signature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, c10::SymInt, c10::SymInt, double);
    static const auto op = operator_of<Signature>("diopi::roi_pool_mmcv");
    return op.call(input, whole_pixels(rois, spatial_scale), pooled_height, pooled_width, 1.0);
}

Tensor roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double /*spatial_scale*/,
                         int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                         int64_t height, int64_t width) {
    using Signature = void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t, double);
    static const auto op = operator_of<Signature>("diopi::roi_pool_backward_mmcv");
    const Tensor result = at::zeros({batch_size, channels, height, width}, grad.options());
    op.call(result, grad, rois, argmax, pooled_height, pooled_width, 1.0);
    return result;
}

// Position-sensitive pooling: the channels of the maps are of classes and bins, and each bin has its own.
struct Bins {
    int64_t height;
    int64_t width;

    int64_t count() const { return height * width; }
    int64_t classes_of(int64_t channels) const {
        TORCH_CHECK(height > 0 && width > 0 && channels % count() == 0,
                    "input channels must be a multiple of pooling height * pooling width");
        return channels / count();
    }
    // The channel of each bin of each region.
    Tensor channels(int64_t regions, int64_t classes, const Tensor& like) const {
        const Tensor numbers = at::arange(classes * count(), like.options().dtype(at::kInt));
        return numbers.view({1, classes, height, width}).expand({regions, -1, -1, -1}).contiguous();
    }
};

// RoiAlign of all channels in all bins has those of the bin itself on its diagonal.
std::tuple<Tensor, Tensor> ps_roi_align(const Tensor& input, const Tensor& rois, double spatial_scale,
                                        c10::SymInt pooled_height, c10::SymInt pooled_width, int64_t sampling_ratio) {
    const Bins bins{pooled_height.expect_int(), pooled_width.expect_int()};
    const int64_t classes = bins.classes_of(input.size(1));
    const Tensor all = roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, true);
    const Tensor own = all.view({rois.size(0), classes, bins.count(), bins.count()}).diagonal(0, 2, 3);
    return {own.reshape({rois.size(0), classes, bins.height, bins.width}).contiguous(),
            bins.channels(rois.size(0), classes, input)};
}

Tensor ps_roi_align_backward(const Tensor& grad, const Tensor& rois, const Tensor& /*channel_mapping*/,
                             double spatial_scale, int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio,
                             int64_t batch_size, int64_t channels, int64_t height, int64_t width) {
    const Bins bins{pooled_height, pooled_width};
    const int64_t classes = bins.classes_of(channels);
    const Tensor all = at::zeros({rois.size(0), classes, bins.count(), bins.count()}, grad.options());
    all.diagonal(0, 2, 3).copy_(grad.reshape({rois.size(0), classes, bins.count()}));
    return roi_align_backward(all.view({rois.size(0), channels, pooled_height, pooled_width}), rois, spatial_scale,
                              pooled_height, pooled_width, batch_size, channels, height, width, sampling_ratio, true);
}

// The share of each pixel along one side of the maps in each bin along it, [K, bins, size]: whole pixels up to `end`,
// so that the product with the pixels is their average.
Tensor shares_of(const Tensor& from, const Tensor& to, int64_t bins, int64_t size, int64_t end) {
    const Tensor width = to.sub(from).clamp_min(1).div(bins).unsqueeze(1);
    const Tensor number = at::arange(bins, from.options());
    const Tensor first = number.mul(width).floor().add(from.unsqueeze(1)).clamp(0, end);
    const Tensor last = number.add(1).mul(width).ceil().add(from.unsqueeze(1)).clamp(0, end);
    const Tensor pixels = at::arange(size, from.options());
    const Tensor is_inside = pixels.ge(first.unsqueeze(2)).logical_and(pixels.lt(last.unsqueeze(2)));
    return is_inside.to(from.scalar_type()).div(last.sub(first).clamp_min(1).unsqueeze(2));
}

// The share of each pixel of the maps in each bin of each region, [bins, K, N * H * W].
Tensor pool_shares(const Tensor& rois, double spatial_scale, const Bins& bins, int64_t images, int64_t height,
                   int64_t width, bool is_forward) {
    const Tensor corners = rounded_corners(rois, spatial_scale);
    // torchvision leaves the last row and column out, but not in the gradient.
    const int64_t cut = is_forward ? 1 : 0;
    const Tensor columns = shares_of(corners.select(1, 0), corners.select(1, 2), bins.width, width, width - cut);
    const Tensor rows = shares_of(corners.select(1, 1), corners.select(1, 3), bins.height, height, height - cut);
    const Tensor image = at::arange(images, rois.options()).eq(rois.narrow(1, 0, 1)).to(rois.scalar_type());
    // [K, bins.height, bins.width, N, H, W]
    const Tensor shares = image.view({-1, 1, 1, images, 1, 1})
                              .mul(rows.view({-1, bins.height, 1, 1, height, 1}))
                              .mul(columns.view({-1, 1, bins.width, 1, 1, width}));
    return shares.view({rois.size(0), bins.count(), images * height * width}).transpose(0, 1);
}

// Maps as [bins, N * H * W, classes].
Tensor by_bin(const Tensor& maps, const Bins& bins, int64_t classes) {
    const int64_t pixels = maps.size(0) * maps.size(2) * maps.size(3);
    return maps.view({maps.size(0), classes, bins.count(), -1})
        .permute({2, 0, 3, 1})
        .reshape({bins.count(), pixels, classes});
}

std::tuple<Tensor, Tensor> ps_roi_pool(const Tensor& input, const Tensor& rois, double spatial_scale,
                                       c10::SymInt pooled_height, c10::SymInt pooled_width) {
    TORCH_CHECK(rois.dim() == 2 && rois.size(1) == 5, "rois must have the shape [K, 5]");
    const Bins bins{pooled_height.expect_int(), pooled_width.expect_int()};
    const int64_t classes = bins.classes_of(input.size(1));
    const Tensor shares =
        pool_shares(rois, spatial_scale, bins, input.size(0), input.size(2), input.size(3), /*is_forward=*/true);
    const Tensor pooled = shares.bmm(by_bin(input.contiguous(), bins, classes)).permute({1, 2, 0});
    return {pooled.reshape({rois.size(0), classes, bins.height, bins.width}).contiguous(),
            bins.channels(rois.size(0), classes, input)};
}

Tensor ps_roi_pool_backward(const Tensor& grad, const Tensor& rois, const Tensor& /*channel_mapping*/,
                            double spatial_scale, int64_t pooled_height, int64_t pooled_width, int64_t batch_size,
                            int64_t channels, int64_t height, int64_t width) {
    const Bins bins{pooled_height, pooled_width};
    const int64_t classes = bins.classes_of(channels);
    const Tensor shares = pool_shares(rois, spatial_scale, bins, batch_size, height, width, /*is_forward=*/false);
    const Tensor gradOutput = grad.reshape({rois.size(0), classes, bins.count()}).permute({2, 0, 1});
    const Tensor maps = shares.transpose(1, 2).bmm(gradOutput);  // [bins, N * H * W, classes]
    return maps.view({bins.count(), batch_size, height * width, classes})
        .permute({1, 3, 0, 2})
        .reshape({batch_size, channels, height, width});
}

// Without a mask all its elements count as one.
Tensor mask_of(const Tensor& mask, const Tensor& offset, bool use_mask) {
    if (use_mask) {
        return mask;
    }
    TORCH_CHECK(offset.dim() == 4, "offset must have 4 dimensions, but has ", offset.dim());
    return at::ones({offset.size(0), offset.size(1) / 2, offset.size(2), offset.size(3)}, offset.options());
}

Tensor deform_conv(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                   const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                   int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
    using Signature =
        Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, c10::SymInt, c10::SymInt,
               c10::SymInt, c10::SymInt, c10::SymInt, c10::SymInt, c10::SymInt, c10::SymInt, int64_t, int64_t, bool);
    static const auto op = operator_of<Signature>("diopi::modulated_deform_conv_mmcv");
    TORCH_CHECK(weight.dim() == 4, "weight must have 4 dimensions, but has ", weight.dim());
    return op.call(input, weight, bias, offset, mask_of(mask, offset, use_mask), weight.size(2), weight.size(3),
                   stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, true);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> deform_conv_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
    const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
    int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
    using Signature = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(
        const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
        const Tensor&, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool);
    static const auto op = operator_of<Signature>("diopi::modulated_deform_conv_backward_mmcv");
    const Tensor scratch = at::zeros({0}, input.options());
    auto [grad_input, grad_weight, grad_bias, grad_offset, grad_mask] =
        op.call(input, weight, bias, scratch, offset, mask_of(mask, offset, use_mask), scratch, grad, weight.size(2),
                weight.size(3), stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, true);
    if (!use_mask) {
        grad_mask = at::zeros(mask.sizes(), mask.options());
    }
    return {grad_input, grad_weight, grad_offset, grad_mask, grad_bias};
}

}  // namespace

TORCH_LIBRARY_IMPL(torchvision, PrivateUse1, library) {
    library.impl("nms", TORCH_FN(nms));
    library.impl("roi_align", TORCH_FN(roi_align));
    library.impl("_roi_align_backward", TORCH_FN(roi_align_backward));
    library.impl("roi_pool", TORCH_FN(roi_pool));
    library.impl("_roi_pool_backward", TORCH_FN(roi_pool_backward));
    library.impl("ps_roi_align", TORCH_FN(ps_roi_align));
    library.impl("_ps_roi_align_backward", TORCH_FN(ps_roi_align_backward));
    library.impl("ps_roi_pool", TORCH_FN(ps_roi_pool));
    library.impl("_ps_roi_pool_backward", TORCH_FN(ps_roi_pool_backward));
    library.impl("deform_conv2d", TORCH_FN(deform_conv));
    library.impl("_deform_conv2d_backward", TORCH_FN(deform_conv_backward));
}

// Regions and scores keep float32 below autocast, as on CUDA; results return to the dtype of the first operand.
TORCH_LIBRARY_IMPL(torchvision, AutocastPrivateUse1, library) {
    for (const char* name : {"nms", "roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d"}) {
        library.impl(name, torch::CppFunction::makeFromBoxedFunction<&compute_in_float32>());
    }
}

}  // namespace diopigen::backend
