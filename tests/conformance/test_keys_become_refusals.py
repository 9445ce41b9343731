"""Each key of a parameter has calls that violate it, next to what is legal, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from sampling import picked

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.cases.suite import tested as functions_of
from diopigen.conformance.model import Case, Number, Operand
from diopigen.ir.model import Interface


def broken(interface: Interface, name: str) -> Mapping[str, Case]:
    """The cases that violate a key, by the middle of their id."""
    function = interface.function(name)
    assert function is not None
    keys = {constraint.id for constraint in function.constraints if constraint.key is not None}
    return {case.id.split("/")[1]: case for case in cases_of(interface, function) if case.breaks in keys}


def plain(value: Any) -> Any:
    if isinstance(value, Operand):
        return value.shape
    return value.value if isinstance(value, Number) else value


@pytest.mark.parametrize(
    ("function", "name", "parameter", "value"),
    [
        ("diopiDropout", "range-below-p", "p", -1.0),
        ("diopiDropout", "range-above-p", "p", 2.0),
        ("diopiAdam", "range-above-beta1", "beta1", 1.0),  # 1 is the first that is not below 1
        ("diopiAdam", "range-below-beta2", "beta2", -1.0),
        ("diopiSlice", "range-below-step", "step", 0),
    ],
)
def test_an_end_is_crossed_by_one(interface: Interface, function: str, name: str, parameter: str, value: float) -> None:
    case = broken(interface, function)[name]
    assert plain(case.arguments[parameter]) == value
    assert (case.blames, case.expect) == (parameter, "diopiErrorOccurred")
    assert case.about.startswith(f"{case.breaks}: {parameter}")


def test_a_dimension_is_crossed_at_both_ends(interface: Interface) -> None:
    found = broken(interface, "diopiSoftmax")
    for name, side in (("dim-above-dim", 0), ("dim-below-dim", -1)):
        rank = len(plain(found[name].arguments["input"]))
        assert found[name].arguments["dim"] == (rank if side == 0 else -rank - 1)


def test_a_list_has_an_entry_too_few_and_one_too_many(interface: Interface) -> None:
    found = broken(interface, "diopiConvolution2d")
    assert len(plain(found["length-short-stride"].arguments["stride"])) == 1
    assert len(plain(found["length-long-stride"].arguments["stride"])) == 3
    assert plain(found["range-below-stride"].arguments["stride"])[-1] == 0


def test_a_tensor_has_a_dimension_too_few_and_one_too_many(interface: Interface) -> None:
    found = broken(interface, "diopiCTCLoss")  # targets have one or two
    assert plain(found["rank-below-targets"].arguments["targets"]) == ()
    assert len(plain(found["rank-above-targets"].arguments["targets"])) == 3


def test_the_other_arguments_follow(interface: Interface) -> None:
    """A number of results that is one too large has an output of that size."""
    case = broken(interface, "diopiTopk")["range-above-k"]
    sizes, k, dim = plain(case.arguments["input"]), case.arguments["k"], case.arguments["dim"]
    assert isinstance(k, int) and isinstance(dim, int)
    assert k == sizes[dim] + 1 == plain(case.arguments["values"])[dim]


TOGETHER = frozenset(
    {
        "AvgPool1d stride.range",
        "AvgPool1dBackward stride.range",
        "AvgPool3d kernel_size.range",
        "AvgPool3dBackward kernel_size.range",
        "Cat num_inputs.range",
        "ContextAttentionInference max_input_len.range",
        "CrossEntropyLoss input.rank",
        "CrossEntropyLossBackward input.rank",
        "CustomizedFlashAttention head_num.range",
        "CustomizedFlashAttentionVarLen max_seqlen_kv.range",
        "CustomizedFlashAttentionVarLen max_seqlen_q.range",
        "CustomizedFlashAttentionVarLenBackward max_seqlen_kv.range",
        "CustomizedFlashAttentionVarLenBackward max_seqlen_q.range",
        "FlashAttentionVarLen max_seqlen_kv.range",
        "FlashAttentionVarLenBackward max_seqlen_kv.range",
        "ForeachnormScalar inputSize.range",
        "FusedIndiceConvBatchnormMmcv numActOut.range",
        "IndexBackward nums.range",
        "IndexSelectBackward input_sizes.range",
        "IndiceConvMmcv numActOut.range",
        "IndiceMaxpoolMmcv numAct.range",
        "InstanceNorm input.rank",
        "InstanceNormBackward input.rank",
        "LayerNormBackward normalized_shape.length",
        "LayerNormGB input.rank",
        "MaxPool1d stride.range",
        "MaxPool1dBackward stride.range",
        "MaxPool1dWithIndices stride.range",
        "MultiHeadAttentionVarLen max_k.range",
        "MultiHeadAttentionVarLenBackward max_k.range",
        "NLLLoss input.rank",
        "NLLLossBackward input.rank",
        "NLLLossV2 input.rank",
        "NLLLossV2Backward input.rank",
        "PagedAttention block_size.range",
        "RMSNorm normalized_shape.length",
        "RMSNormBackward normalized_shape.length",
        "SelectBackward input_sizes.range",
        "SortBackward sizes.range",
        "Stack numTensors.range",
        "UnfoldBackward input_sizes.range",
        "Upfirdn2dOpMmcv down_x.range",
        "Upfirdn2dOpMmcv down_y.range",
        "Upfirdn2dOpMmcv up_x.range",
        "Upfirdn2dOpMmcv up_y.range",
    }
)
"""Keys that no call violates alone: another constraint of the function bounds the same value, or relates it to a shape
that would then be another one."""


@pytest.mark.parametrize("share", [pytest.param(8, id="sample"), pytest.param(1, id="whole", marks=pytest.mark.slow)])
def test_every_key_is_violated_by_a_case(interface: Interface, share: int) -> None:
    found = [f for f in functions_of(interface) if picked(f.name, share)]
    missing = [
        f"{function.short_name} {constraint.id}"
        for function in found
        for constraint in function.constraints
        if constraint.key is not None
        and constraint.id not in {case.breaks for case in broken(interface, function.name).values()}
    ]
    assert set(missing) <= TOGETHER
