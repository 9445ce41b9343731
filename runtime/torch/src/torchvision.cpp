// The operators that detection libraries look up under the name of torchvision. Its own library defines their schemas,
// gradients and compositions; where it is not loaded, these kernels wait for a schema that does not come.
#include <ATen/core/dispatch/Dispatcher.h>
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
c10::TypedOperatorHandle<Signature> operatorOf(const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

Tensor nms(const Tensor& dets, const Tensor& scores, double iou_threshold) {
    static const auto op = operatorOf<Tensor(const Tensor&, const Tensor&, double)>("diopi::nms");
    return op.call(dets, scores, iou_threshold);
}

Tensor roiAlign(const Tensor& input, const Tensor& rois, double spatial_scale, c10::SymInt pooled_height,
                c10::SymInt pooled_width, int64_t sampling_ratio, bool aligned) {
    using Signature = Tensor(const Tensor&, const Tensor&, double, c10::SymInt, c10::SymInt, int64_t, bool);
    static const auto op = operatorOf<Signature>("diopi::roi_align");
    return op.call(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned);
}

Tensor roiAlignBackward(const Tensor& grad, const Tensor& rois, double spatial_scale, int64_t pooled_height,
                        int64_t pooled_width, int64_t batch_size, int64_t channels, int64_t height, int64_t width,
                        int64_t sampling_ratio, bool aligned) {
    using Signature = Tensor(const Tensor&, const Tensor&, double, int64_t, int64_t, c10::SymInt, c10::SymInt,
                             c10::SymInt, c10::SymInt, int64_t, bool);
    static const auto op = operatorOf<Signature>("diopi::roi_align_backward");
    return op.call(grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width,
                   sampling_ratio, aligned);
}

// torchvision rounds corners to pixels and gives each region at least one; diopiRoiPoolMmcv does neither, so it gets
// regions of whole pixels of the feature map.
Tensor wholePixels(const Tensor& rois, double spatial_scale) {
    TORCH_CHECK(rois.dim() == 2 && rois.size(1) == 5, "rois must have the shape [K, 5]");
    // Halves go away from zero, as C's round has it; at::round takes them to the even neighbour.
    const Tensor scaled = rois.narrow(1, 1, 4).mul(spatial_scale);
    const Tensor corners = scaled.abs().add(0.5).floor().mul(scaled.sign());
    const Tensor first = corners.narrow(1, 0, 2);
    return at::cat({rois.narrow(1, 0, 1), first, at::maximum(corners.narrow(1, 2, 2), first)}, 1);
}

std::tuple<Tensor, Tensor> roiPool(const Tensor& input, const Tensor& rois, double spatial_scale,
                                   c10::SymInt pooled_height, c10::SymInt pooled_width) {
    using Signature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, c10::SymInt, c10::SymInt, double);
    static const auto op = operatorOf<Signature>("diopi::roi_pool_mmcv");
    return op.call(input, wholePixels(rois, spatial_scale), pooled_height, pooled_width, 1.0);
}

Tensor roiPoolBackward(const Tensor& grad, const Tensor& rois, const Tensor& argmax, double /*spatial_scale*/,
                       int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                       int64_t height, int64_t width) {
    using Signature = void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, int64_t, int64_t, double);
    static const auto op = operatorOf<Signature>("diopi::roi_pool_backward_mmcv");
    const Tensor result = at::zeros({batch_size, channels, height, width}, grad.options());
    op.call(result, grad, rois, argmax, pooled_height, pooled_width, 1.0);
    return result;
}

// Without a mask all its elements count as one.
Tensor maskOf(const Tensor& mask, const Tensor& offset, bool use_mask) {
    if (use_mask) {
        return mask;
    }
    TORCH_CHECK(offset.dim() == 4, "offset must have 4 dimensions, but has ", offset.dim());
    return at::ones({offset.size(0), offset.size(1) / 2, offset.size(2), offset.size(3)}, offset.options());
}

Tensor deformConv(const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
                  const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w,
                  int64_t dilation_h, int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
    using Signature =
        Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, c10::SymInt, c10::SymInt,
               c10::SymInt, c10::SymInt, c10::SymInt, c10::SymInt, c10::SymInt, c10::SymInt, int64_t, int64_t, bool);
    static const auto op = operatorOf<Signature>("diopi::modulated_deform_conv_mmcv");
    TORCH_CHECK(weight.dim() == 4, "weight must have 4 dimensions, but has ", weight.dim());
    return op.call(input, weight, bias, offset, maskOf(mask, offset, use_mask), weight.size(2), weight.size(3),
                   stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, true);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> deformConvBackward(
    const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& offset, const Tensor& mask,
    const Tensor& bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
    int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
    using Signature = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(
        const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
        const Tensor&, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool);
    static const auto op = operatorOf<Signature>("diopi::modulated_deform_conv_backward_mmcv");
    const Tensor scratch = at::zeros({0}, input.options());
    auto [grad_input, grad_weight, grad_bias, grad_offset, grad_mask] =
        op.call(input, weight, bias, scratch, offset, maskOf(mask, offset, use_mask), scratch, grad, weight.size(2),
                weight.size(3), stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, true);
    if (!use_mask) {
        grad_mask = at::zeros(mask.sizes(), mask.options());
    }
    return {grad_input, grad_weight, grad_offset, grad_mask, grad_bias};
}

}  // namespace

TORCH_LIBRARY_IMPL(torchvision, PrivateUse1, library) {
    library.impl("nms", TORCH_FN(nms));
    library.impl("roi_align", TORCH_FN(roiAlign));
    library.impl("_roi_align_backward", TORCH_FN(roiAlignBackward));
    library.impl("roi_pool", TORCH_FN(roiPool));
    library.impl("_roi_pool_backward", TORCH_FN(roiPoolBackward));
    library.impl("deform_conv2d", TORCH_FN(deformConv));
    library.impl("_deform_conv2d_backward", TORCH_FN(deformConvBackward));
}

// Regions and scores keep float32 below autocast, as on CUDA; results return to the dtype of the first operand.
TORCH_LIBRARY_IMPL(torchvision, AutocastPrivateUse1, library) {
    for (const char* name : {"nms", "roi_align", "roi_pool", "deform_conv2d"}) {
        library.impl(name, torch::CppFunction::makeFromBoxedFunction<&computeInFloat32>());
    }
}

}  // namespace diopigen::backend
