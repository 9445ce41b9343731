"""Cases that vary recipes: layouts of one tensor, dimensions from the end, edge values, no samples, null tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diopigen import api
from diopigen.conformance.cases.suite import cases_of, select
from diopigen.conformance.model import Case, Number, Operand
from diopigen.conformance.run.binding import Host
from diopigen.conformance.run.blocks import CANARY
from diopigen.conformance.run.memory import Arena
from diopigen.conformance.strides import GUARD
from diopigen.contract.comparisons import tensors_of_dims
from diopigen.diagnostics import Sink
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Drawn

ROOT = Path(__file__).resolve().parents[2]


def tensor_of(case: Case, name: str) -> Operand:
    found = case.arguments[name]
    assert isinstance(found, Operand)
    return found


def distribution_of(case: Case, name: str) -> str:
    values = tensor_of(case, name).values
    assert isinstance(values, Drawn)
    return values.distribution


def function_of(interface: Interface, name: str) -> Function:
    found = interface.function(name)
    assert found is not None
    return found


def of_axis(interface: Interface, name: str, axis: str) -> list[Case]:
    return [case for case in cases_of(interface, function_of(interface, name)) if case.axis == axis]


@pytest.fixture(scope="module")
def every_case(interface: Interface, derived: Callable[[Function], Sequence[Case]]) -> list[Case]:
    tables = api.models(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), Sink())
    return select(interface, tables=tuple(tables.values()), derived=derived)


def test_there_are_25000_cases_with_ids_of_their_own(every_case: list[Case]) -> None:
    assert len({case.id for case in every_case}) == len(every_case) >= 25_000


def test_one_tensor_alone_is_laid_out(every_case: list[Case]) -> None:
    cases = [case for case in every_case if case.axis == "alone"]
    for case in cases:
        laid_out = set()
        for name, value in case.arguments.items():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Operand) and item.layout != "contiguous":
                    laid_out.add(name)
        assert len(laid_out) == 1, case.id
    assert len({case.function for case in cases}) > 300


def test_strides_are_looked_at_in_float32(interface: Interface, every_case: list[Case]) -> None:
    """A chip without complex numbers and float64 sees laid-out tensors of every operator that takes its dtypes. The
    exceptions are recipes that fix another dtype, or whose tensors have too few dimensions for a layout."""
    taken = {case.function for case in every_case if case.axis == "recipe" and case.dtype == "float32"}
    laid_out = {case.function for case in every_case if case.axis in ("strided", "alone", "non-contiguous")}
    in_float32 = {
        case.function
        for case in every_case
        if case.axis in ("strided", "alone", "non-contiguous") and case.dtype == "float32"
    }
    assert len(in_float32) > 250
    assert sorted(taken & laid_out - in_float32) == []


def test_the_layouts_of_a_convolution(interface: Interface) -> None:
    names = {case.id.split("/")[2] for case in of_axis(interface, "diopiConvolution2d", "alone")}
    every = ("strided", "transposed", "expanded", "channels-last")
    assert {f"{name}-{layout}" for name in ("input", "weight") for layout in every} <= names
    assert {f"out-{layout}" for layout in every if layout != "expanded"} | {"bias-strided"} <= names
    assert "out-expanded" not in names and "bias-transposed" not in names


def test_indices_that_must_differ_are_not_expanded(interface: Interface) -> None:
    """A permutation whose first dimension repeats one slice would be none."""
    for case in of_axis(interface, "diopiScatter", "alone"):
        index = case.arguments["index"]
        assert isinstance(index, Operand)
        assert index.layout != "expanded" or index.values not in ("permutation", "distinct")


def test_dimensions_are_counted_from_the_end(interface: Interface) -> None:
    assert tensors_of_dims(function_of(interface, "diopiCumsum")) == {"dim": "input"}
    assert tensors_of_dims(function_of(interface, "diopiTranspose")) == {"dim0": "input", "dim1": "input"}
    assert tensors_of_dims(function_of(interface, "diopiSum")) == {"dim": "input"}
    assert tensors_of_dims(function_of(interface, "diopiBmm")) == {}
    recipes = {case.id.split("/")[2]: case for case in of_axis(interface, "diopiCumsum", "recipe")}
    negative = of_axis(interface, "diopiCumsum", "negative-dim")
    assert negative
    for case in negative:
        before = recipes[case.id.split("/")[2].replace("negative-dim", "recipe")]
        shape = tensor_of(before, "input").shape
        dims = case.arguments["dim"], before.arguments["dim"]
        assert isinstance(dims[0], int) and isinstance(dims[1], int) and abs(dims[0] - dims[1]) == len(shape)
        assert tensor_of(case, "input").shape == shape


def test_every_dtype_of_the_second_operand_is_mixed_in(interface: Interface) -> None:
    mixed = [case for case in of_axis(interface, "diopiMul", "mixed") if case.dtype == "int16"]
    dtypes = {tensor_of(case, "other").dtype for case in mixed}
    assert dtypes == {"bool", "uint8", "int8", "int32", "int64"}


def test_a_scalar_that_may_be_a_bool_is_one(interface: Interface) -> None:
    cases = [case for case in of_axis(interface, "diopiMulScalar", "mixed") if case.id.endswith("mixed-bool-other")]
    outputs = {case.dtype: tensor_of(case, "out").dtype for case in cases}
    assert outputs == {"bool": "bool", "int32": "int32", "float32": "float32"}
    assert {case.arguments["other"] for case in cases} == {Number(1, "bool")}
    assert not any("mixed-bool" in case.id for case in cases_of(interface, function_of(interface, "diopiSubScalar")))


def test_tensors_lack_their_last_dimension(interface: Interface) -> None:
    cases = {case.id.split("/")[1]: case for case in of_axis(interface, "diopiConvolution2d", "error")}
    assert tensor_of(cases["short-weight"], "weight").shape == (4, 3, 3)
    assert "short-bias" not in cases  # without dimensions it may stand for one of size 1


def test_edge_values_reach_every_dtype(interface: Interface) -> None:
    special = {case.dtype: case for case in of_axis(interface, "diopiMax", "special")}
    assert {"float16", "bfloat16", "float32", "float64", "int8", "uint8", "int64"} <= set(special)
    assert distribution_of(special["int8"], "input") == "special"
    sums = of_axis(interface, "diopiSum", "special")
    assert {distribution_of(case, "input") for case in sums} == {"small-special"}
    assert of_axis(interface, "diopiConvolution2d", "special") == []


def test_reductions_have_a_long_dimension(interface: Interface) -> None:
    for name, dim in (("diopiSum", (1,)), ("diopiSoftmax", 1), ("diopiCumsum", 1), ("diopiMax", 1)):
        found = [case for case in of_axis(interface, name, "large") if not case.id.endswith("large-columns")]
        cases = {case.dtype: case for case in found}
        assert {"float16", "bfloat16", "float32", "float64"} <= set(cases), name
        for case in cases.values():
            assert tensor_of(case, "input").shape == (3, 70_001) and case.arguments["dim"] == dim
    assert of_axis(interface, "diopiSoftmaxBackward", "large") == []


def test_no_samples(interface: Interface) -> None:
    (case,) = of_axis(interface, "diopiConvolution2dBackward", "empty")
    shapes = {name: value.shape for name, value in case.arguments.items() if isinstance(value, Operand)}
    assert shapes["input"][0] == shapes["grad_output"][0] == shapes["grad_input"][0] == 0
    assert 0 not in shapes["weight"] and shapes["grad_weight"] == shapes["weight"]


def test_optional_tensors_are_null_one_at_a_time(interface: Interface) -> None:
    cases = {case.id.split("/")[2]: case.arguments for case in of_axis(interface, "diopiLayerNormBackward", "null")}
    assert set(cases) == {"null-grad_input", "null-grad_weight", "null-grad_bias", "null-weight", "null-bias"}
    assert cases["null-weight"]["weight"] is None and cases["null-weight"]["bias"] is not None


def test_a_tensor_can_begin_behind_an_aligned_position(interface: Interface, runtime: Path) -> None:
    values = {info.name: position for position, info in enumerate(interface.dtypes)}
    enums = {value.name: value.value for enum in interface.enums for value in enum.values}
    values = {info.name: enums[info.enum] for info in interface.dtypes}
    arena = Arena(Host(runtime), values)
    block = arena.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), "float32", "offset")
    now = arena.read(block)
    assert block.start == GUARD + 4 and now.size == 2 * GUARD + 7 * 4
    assert np.array_equal(block.elements(now), [[0, 1, 2], [3, 4, 5]])
    assert set(now[: GUARD + 4]) == set(now[GUARD + 28 :]) == {CANARY}
    same = arena.alias(block, (2, 3))
    assert np.array_equal(same.elements(arena.read(block)), [[0, 1, 2], [3, 4, 5]])
    stored, dtype, strides = arena.fetch(block.handle)
    assert (dtype, strides) == ("float32", (3, 1)) and np.array_equal(stored, [[0, 1, 2], [3, 4, 5]])
    arena.clear()


def test_the_offset_layout_is_one_of_the_suite(every_case: list[Case]) -> None:
    cases = [case for case in every_case if case.axis == "offset"]
    assert cases and all(
        replace(value, layout="offset") == value
        for case in cases
        for value in case.arguments.values()
        if isinstance(value, Operand)
    )


def test_recipes_of_convolutions_are_finite(every_case: list[Case], interface: Interface) -> None:
    """Fourier transforms turn an infinity into NaN everywhere, which the spec leaves open."""
    convolutions = {function.name for function in interface.functions if function.tolerance == "convolution"}
    assert all(
        "special_values" in function.unspecified for function in interface.functions if function.name in convolutions
    )
    wrong = [
        case.id
        for case in every_case
        if case.function in convolutions and case.axis == "recipe"
        for value in case.arguments.values()
        if isinstance(value, Operand)
        and isinstance(value.values, tuple)
        and not np.all(np.isfinite(np.array(value.values, dtype=float)))
    ]
    assert wrong == []


def test_options_meet_in_pairs(interface: Interface, every_case: list[Case]) -> None:
    """A mask under a window; a weight without reduction; what every recipe leaves at its default."""
    combined = [case for case in every_case if case.axis == "combined"]
    options = {(case.function, case.id.partition("/combined-")[2]): case.arguments for case in combined}
    masked = options["diopiCustomizedFlashAttention", "attention_mask-window_size_left"]
    assert masked["attention_mask"] is not None and masked["window_size_left"] != -1
    weighed = options["diopiBCELoss", "weight-reduction"]
    assert weighed["weight"] is not None and weighed["reduction"] == "ReductionNone"
    assert options["diopiMaxPool2dBackward", "ceil_mode"]["ceil_mode"] is True
    # Each goes with one dtype alone: they cost little.
    assert len(options) <= len(combined) < 500


def test_outputs_of_joined_recipes_have_the_shape_of_both(interface: Interface) -> None:
    """A loss without reduction has one element for each sample, which is not the shape in the recipe of the weight."""
    for case in of_axis(interface, "diopiBCELoss", "combined"):
        without = case.arguments["reduction"] == "ReductionNone"
        assert tensor_of(case, "out").shape == (tensor_of(case, "input").shape if without else ())
