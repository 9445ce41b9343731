"""The operators of the namespace `diopi`: which functions have one, and which of them have a gradient."""

from __future__ import annotations

import pytest

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.emit.torch.custom import Custom, operators
from diopigen.emit.torch.gradients import Backward, gradients
from diopigen.ir.model import Interface

WITHOUT = {
    "diopiGetVendorName": "is no operator",
    "diopiGetImplVersion": "is no operator",
    "diopiGetLastErrorString": "is no operator",
    "diopiIndexBackward": "indices is a list, or a member of one, that may be null",
    "diopiClipGradNorm": "out is a number that the function writes",
    "diopiContiguous": "memoryFormat has the type diopiMemoryFormat_t, which schemas do not have",
    "diopiNativeMemoryFormatCast": "in is a word of Python",
    "diopiGetNativeMemoryFormat": "format is a number that the function writes",
    "diopiTensorDestructionHook": "ptr has the type opaque, which schemas do not have",
    "diopiMultiHeadAttention": "is deprecated",
    "diopiMultiHeadAttentionBackward": "is deprecated",
    "diopiMultiHeadAttentionVarLen": "is deprecated",
    "diopiMultiHeadAttentionVarLenBackward": "is deprecated",
    "diopiFusedSiluFfnInp": "workspace_size is a number that the function writes",
    "diopiFusedContextAttentionInp": "pre_work_size is a number that the function writes",
    "diopiFusedDecoderAttentionInp": "workspace_size is a number that the function writes",
    "diopiTopKSampling": "workspace_size is a number that the function writes",
    "diopiTopPSampling": "persistent_workspace_size is a number that the function writes",
    "diopiSpMM": "input is sparse; torch.sparse.mm calls the function",
}
"""Functions that no overload of ATen names and that have no operator, with the reason."""

NOT_DIFFERENTIABLE = {
    "diopiMaxPool1dWithIndices": "its results are arguments that the caller provides",
    "diopiAvgPool1d": "its results are arguments that the caller provides",
    "diopiAdaptiveMaxPool1dWithIndices": "its results are arguments that the caller provides",
    "diopiAdaptiveAvgPool1d": "its results are arguments that the caller provides",
    "diopiPool1d": "its results are arguments that the caller provides",
    "diopiPool2d": "its results are arguments that the caller provides",
    "diopiSigmoidFocalLoss": "its results are arguments that the caller provides",
    "diopiConvTranspose3d": "its results are arguments that the caller provides",
    "diopiConvolution3d": "its results are arguments that the caller provides",
    "diopiPool3d": "its results are arguments that the caller provides",
    "diopiLayerNormGB": "its results are arguments that the caller provides",
    "diopiFlashAttention": "it draws random numbers, which the backward call must draw again",
    "diopiCustomizedFlashAttention": "it draws random numbers, which the backward call must draw again",
    "diopiFlashAttentionVarLen": "it draws random numbers, which the backward call must draw again",
    "diopiCustomizedFlashAttentionVarLen": "it draws random numbers, which the backward call must draw again",
    "diopiSigmoidFocalLossMmcv": "sigmoid_focal_loss_backward_mmcv reads no gradient of a result",
    "diopiSoftmaxFocalLossMmcv": "softmax_focal_loss_backward_mmcv reads no gradient of a result",
    "diopiRoiawarePool3dMmcv": "its results are arguments that the caller provides",
    "diopiDynamicPointToVoxelMmcv": "dynamic_point_to_voxel_backward_mmcv reads reduced_feats, unknown to the call",
    "diopiSyncBnOutputMmcv": "its results are arguments that the caller provides",
    "diopiIndiceMaxpoolMmcv": "indice_maxpool_backward_mmcv reads outFeatures, unknown to the call",
    "diopiIndiceConvMmcv": "indice_conv_backward_mmcv writes the gradient of no operand",
}
"""Operators with a backward function whose gradients do not follow from the spec, with the reason."""

UNKNOWN_SHAPES = {
    "nms",
    "customized_flash_attention",
    "customized_flash_attention_var_len",
    "nms_mmcv",
    "nms_rotated_mmcv",
    "dynamic_point_to_voxel_mmcv",
    "indice_conv_backward_mmcv",
}
"""Operators without a fake kernel: a result has a size that only the call says."""


@pytest.fixture(scope="module")
def interface() -> Interface:
    return api.load(api.workspace(), Sink(), check=False).interface


@pytest.fixture(scope="module")
def customs(interface: Interface) -> dict[str, Custom]:
    return {one.name: one for one in operators(interface)[0]}


def test_functions_without_an_operator_are_named(interface: Interface) -> None:
    found, reasons = operators(interface)
    assert reasons == WITHOUT
    names = [one.name for one in found]
    assert len(names) == len(set(names)) > 180
    served = {one.function.name for one in found} | set(reasons)
    skipped = [f.name for f in interface.functions if f.header == "diopirt.h" or f.is_collective]
    others = [f for f in interface.functions if f.name not in skipped and not f.aten]
    assert {f.name for f in others} == served


def test_gradients_that_do_not_follow_are_named(interface: Interface, customs: dict[str, Custom]) -> None:
    found, reasons = gradients(interface, list(customs.values()))
    assert reasons == NOT_DIFFERENTIABLE
    assert len(found) >= 26


def test_shapes_that_only_the_call_says_are_named(customs: dict[str, Custom]) -> None:
    assert {one.name for one in customs.values() if not one.is_shaped} == UNKNOWN_SHAPES


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("nms_mmcv", "(Tensor dets, Tensor scores, float iou_threshold, int offset=0) -> Tensor"),
        # A default that an argument without one follows is no default.
        (
            "roi_align",
            "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
            "int sampling_ratio=-1, bool aligned=False) -> Tensor",
        ),
        # A state that the function changes is the caller's.
        ("rotary_embedding_v2", "(Tensor(a!) query, Tensor(b!) key, Tensor cos, Tensor sin, int dim) -> ()"),
        # What a gradient is added to starts from zeros; scratch memory is no argument.
        (
            "gather_points_backward_mmcv",
            "(Tensor grad_out, Tensor idx, SymInt b, SymInt c, SymInt n, int npoints) -> Tensor",
        ),
    ],
)
def test_schemas(customs: dict[str, Custom], name: str, schema: str) -> None:
    assert customs[name].schema == name + schema


def test_a_backward_call_reads_what_the_forward_call_has(interface: Interface, customs: dict[str, Custom]) -> None:
    found, _ = gradients(interface, list(customs.values()))
    sizes = ("s0.0", "s0.1", "s0.2", "s0.3")
    assert found["roi_align"] == [
        Backward("roi_align_backward", ("g0", "i1", "i2", "i3", "i4", *sizes, "i5", "i6"), ("0",))
    ]
    # The gradient has a shape that the backward call alone does not say: it is added to zeros like the operand.
    assert found["roi_pool_mmcv"] == [
        Backward("roi_pool_backward_mmcv", ("z0", "g0", "i1", "o1", "i2", "i3", "i4"), ())
    ]
    # Two functions, of which each computes some of the gradients.
    assert [call.results for call in found["deform_conv_mmcv"]] == [("0", "2"), ("1",)]
