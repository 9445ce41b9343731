"""The schemas that torchvision's own library defines, for where it is not installed or does not load."""

from __future__ import annotations

_DEFORM = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask"
)
_POOLED = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_MAPS = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"

SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align": f"(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
    "_roi_align_backward": (
        f"(Tensor grad, Tensor rois, {_POOLED}, {_MAPS}, int sampling_ratio, bool aligned) -> Tensor"
    ),
    "roi_pool": f"(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)",
    "_roi_pool_backward": f"(Tensor grad, Tensor rois, Tensor argmax, {_POOLED}, {_MAPS}) -> Tensor",
    "ps_roi_align": f"(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio) -> (Tensor, Tensor)",
    "_ps_roi_align_backward": (
        f"(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, int sampling_ratio, {_MAPS}) -> Tensor"
    ),
    "ps_roi_pool": f"(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)",
    "_ps_roi_pool_backward": f"(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, {_MAPS}) -> Tensor",
    "deform_conv2d": f"({_DEFORM}) -> Tensor",
    "_deform_conv2d_backward": f"(Tensor grad, {_DEFORM}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
}
"""Name and schema of the operators that the device has kernels for."""
