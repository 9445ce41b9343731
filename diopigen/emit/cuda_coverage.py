"""What the CUDA library covers: kernels of the spec, and functions written by hand. Others answer diopiNoImplement."""

from __future__ import annotations

from pathlib import Path

from diopigen.emit.c_text import call_lines
from diopigen.emit.cpu_kernels import tensor_functions
from diopigen.emit.cpu_not_covered import function_head, function_params
from diopigen.emit.plan import PlannedFile
from diopigen.emit.templates import render
from diopigen.ir.model import Function, Interface

_NAMES = """
    AdaptiveAvgPool1d AdaptiveAvgPool1dBackward AdaptiveAvgPool2d AdaptiveAvgPool2dBackward AdaptiveAvgPool3d
    AdaptiveAvgPool3dBackward AdaptiveMaxPool1d AdaptiveMaxPool1dBackward AdaptiveMaxPool1dWithIndices
    AdaptiveMaxPool2d AdaptiveMaxPool2dBackward AdaptiveMaxPool2dWithIndices AdaptiveMaxPool3d
    AdaptiveMaxPool3dBackward AdaptiveMaxPool3dWithIndices Addmm All Amax AmpForeachNonFiniteCheckAndUnscaleInp
    AmpUpdateScaleInp Any ApplyPenalty ApplyPenaltyV2 Argmax Argmin Argsort AvgPool1d AvgPool1dBackward
    AvgPool2d AvgPool2dBackward AvgPool3d AvgPool3dBackward BCELoss BCELossBackward BCEWithLogits
    BCEWithLogitsBackward Baddbmm BaddbmmInp BatchNorm BatchNormBackward BatchNormBackwardElemt
    BatchNormBackwardReduce BatchNormElemt BatchNormGatherStatsWithCounts BatchNormStats Bernoulli BernoulliInp
    BernoulliScalar Bmm CTCLoss CTCLossBackward Cat Cdist CdistBackward Cholesky CholeskyBackward ClipGradNorm
    Col2Im ContextAttentionInference Contiguous ConvTranspose2d ConvTranspose2dBackward ConvTranspose3d
    ConvTranspose3dBackward Convolution2d Convolution2dBackward Convolution3d Convolution3dBackward
    CrossEntropyLoss CrossEntropyLossBackward Cumsum CumsumBackward CustomizedFlashAttention
    CustomizedFlashAttentionBackward CustomizedFlashAttentionVarLen CustomizedFlashAttentionVarLenBackward
    DestIndexCopyKV Dropout DropoutInp Embedding EmbeddingBackward EmbeddingRenorm_ Equal FlashAttention
    FlashAttentionBackward FlashAttentionVarLen FlashAttentionVarLenBackward Flip ForeachnormScalar FusedAdamW
    Gather GatherBackward GetNativeMemoryFormat GridSample GroupNorm GroupNormBackward Im2Col Index
    IndexBackward IndexFill IndexFillInp IndexFillInpScalar IndexFillScalar IndexPut IndexPutInp IndexSelect
    IndexSelectBackward InstanceNorm InstanceNormBackward LayerNorm LayerNormBackward LayerNormGB
    LayerNormGBBackward LinalgQR LinalgVecNorm Linear LinearBackward LogSoftmax LogSoftmaxBackward MSELoss
    MSELossBackward MaskedScatter MaskedSelect MaskedSelectBackward Matmul MatmulAllReduce MatmulBackward Max
    MaxAll MaxPool1d MaxPool1dBackward MaxPool1dWithIndices MaxPool2d MaxPool2dBackward MaxPool2dWithIndices
    MaxPool3d MaxPool3dBackward MaxPool3dWithIndices Mean MeshGrid Min MinAll Mm MultiHeadAttention
    MultiHeadAttentionBackward MultiHeadAttentionVarLen MultiHeadAttentionVarLenBackward Multinomial NLLLoss
    NLLLossBackward NLLLossV2 NLLLossV2Backward NativeMemoryFormatCast Nms Nonzero Norm NormBackward Normal
    NormalInp NormalScalarTensor NormalTensor NormalTensorScalar Normalize NormalizeBackward OneHot Pad
    PagedAttention Permute Pool1d Pool1dBackward Pool2d Pool2dBackward Pool3d Pool3dBackward Prod
    PromptFlashAttention RMSNorm RMSNormBackward RandomInp Randperm Repeat RoiAlign RoiAlignBackward Roll
    RotaryEmbedding RotaryEmbeddingV2 ScaledMaskedSoftmax ScaledMaskedSoftmaxBackward Scatter ScatterInp
    ScatterInpScalar ScatterScalar Select SelectBackward SelectScatter SigmoidFocalLoss SigmoidFocalLossBackward
    Slice SliceBackward SliceScatter SmoothL1Loss SmoothL1LossBackward Softmax SoftmaxBackward Sort SortBackward
    SpMM SplitWithSizes Stack Std Sum TensorDestructionHook TokenAttentionInference TokenSoftmaxReduceVInference
    Topk Transpose TriangularSolve TriangularSolveBackward Unfold UnfoldBackward UniformInp Unique
    UpsampleLinear UpsampleLinearBackward UpsampleNearest UpsampleNearestBackward
"""

BY_HAND = frozenset(f"diopi{name}" for name in _NAMES.split())
"""The functions that impl/cuda defines, or takes from impl/cpu; a test compares them with the library."""

RUNTIME = "diopirt.h"
"""The header of what the host gives to libraries."""

_TEMPLATE = "cuda/not_covered.cpp.j2"


def not_covered(interface: Interface) -> tuple[Function, ...]:
    """The functions that answer diopiNoImplement, in the order of the headers."""
    covered = BY_HAND | {function.name for function in tensor_functions(interface)}
    functions = [f for header in interface.headers if header.file != RUNTIME for f in header.functions]
    return tuple(f for f in functions if f.name not in covered and f.returns == "status")


def not_covered_files(interface: Interface, templates: Path, target: str) -> tuple[PlannedFile, ...]:
    """`cuda/not_covered.cpp`; nothing where everything is covered."""
    functions = not_covered(interface)
    if not functions:
        return ()
    sources = sorted({interface.file_of[function.name] for function in functions})
    values = {
        "headers": sorted({function.header for function in functions}),
        "functions": [
            {"name": function.name, "head": call_lines(function_head(function), function_params(function), " {")}
            for function in functions
        ],
    }
    inputs = (*sources, "specs/types.yaml", f"templates/{_TEMPLATE}")
    return (PlannedFile("cuda/not_covered.cpp", render(templates, _TEMPLATE, values), inputs, target),)
