"""Properties without a case of the suite: constraints that read elements, and calls that a library may accept or
reject."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import CallFailed, CpuLibrary

Array = np.ndarray[Any, Any]


def rejection(cpu: CpuLibrary, function: str, *arguments: Any) -> str:
    with pytest.raises(CallFailed) as failure:
        cpu.call(function, *arguments)
    return failure.value.text


def test_topk_takes_nothing_of_a_number(cpu: CpuLibrary) -> None:
    cpu.call("diopiTopk", np.zeros(0, np.float32), np.zeros(0, np.int64), np.array(3, np.float32), 0, 0, True, True)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "C4: inputsNum"), (65, "the shape [1] in member 0 and must have [1, 1,")]
)
def test_grids_have_as_many_dimensions_as_a_tensor_may_have(cpu: CpuLibrary, count: int, text: str) -> None:
    vectors = [np.ones(1, np.float32)] * count
    grids = [np.zeros(1, np.float32) for _ in range(count)]
    assert text in rejection(cpu, "diopiMeshGrid", grids, vectors, count)


def test_a_number_is_rolled_as_a_vector_of_one_element(cpu: CpuLibrary) -> None:
    out = np.array(-1, np.float32)
    cpu.call("diopiRoll", out, np.array(3, np.float32), [5, 1], [0, -1])
    assert out == 3


@pytest.mark.parametrize("number", [255.7, -255.7, 0.9])
def test_the_fraction_of_a_number_for_integers_is_cut_off(cpu: CpuLibrary, number: float) -> None:
    out = np.zeros(2, np.uint8)
    cpu.call("diopiMaskedFillScalar", out, np.full(2, 7, np.uint8), np.array([True, False]), number)
    np.testing.assert_array_equal(out, [int(number) % 256, 7])
    cpu.call("diopiFill", out, number)
    np.testing.assert_array_equal(out, [int(number) % 256] * 2)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("index", [-2, 4])
def test_positions_of_maxima_are_in_their_plane(cpu: CpuLibrary, dims: int, index: int) -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4, *[1] * (dims - 1))
    grad = np.ones((1, 1, 1, *[1] * (dims - 1)), np.float32)
    out = np.zeros_like(x)
    kernel, one, zero = [4, *[1] * (dims - 1)], [1] * dims, [0] * dims
    arguments = (kernel, kernel, zero, one, False)

    def calls(indices: Array) -> list[tuple[str, tuple[Any, ...]]]:
        return [
            (f"diopiMaxPool{dims}dBackward", (out, grad, x, *arguments, indices)),
            (f"diopiAdaptiveMaxPool{dims}dBackward", (out, grad, x, indices)),
            (f"diopiPool{dims}dBackward", (out, grad, x, "max", *arguments, True, False, indices)),
        ]

    for function, call in calls(np.full(grad.shape, index)):
        assert "every index is -1 or a position in its plane" in rejection(cpu, function, *call)
    for function, call in calls(np.full(grad.shape, -1)):
        out.fill(5)
        cpu.call(function, *call)
        assert not out.any()


def ones(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def test_dimensions_that_one_variadic_entry_names_are_the_same_in_results(cpu: CpuLibrary) -> None:
    image, grid = ones(1, 2, 4, 4), ones(1, 3, 5, 2)
    cpu.call("diopiGridSample", ones(1, 2, 3, 5), image, grid, "bilinear")
    text = rejection(cpu, "diopiGridSample", ones(1, 2, 5, 3), image, grid, "bilinear")
    assert text.endswith("'out' is float32[1, 2, 5, 3] and must have [3, 5] where it has [5, 3]")


def test_dimensions_that_one_variadic_entry_names_broadcast_in_operands(cpu: CpuLibrary) -> None:
    text = rejection(cpu, "diopiAdaptiveAvgPool1dBackward", ones(3, 1, 4), ones(2, 1, 2), ones(3, 1, 4))
    assert text.endswith("'input' is float32[3, 1, 4], and [3] does not broadcast with [2] of other tensors")
    text = rejection(cpu, "diopiAdaptiveAvgPool1dBackward", ones(3, 1, 4), ones(1, 1, 2), ones(3, 1, 4))
    assert "C2: grad_output has the batch of input" in text


def test_numbers_that_no_integer_holds_are_compared(cpu: CpuLibrary) -> None:
    huge = 2**62
    query, key = np.ones((2, 8), np.float16), np.ones((2, 8), np.float16)
    text = rejection(cpu, "diopiPromptFlashAttention", query, query, key, key, None, [2], 2, huge, 1, huge)
    assert "C2: query and key hold max_input_len rows" in text


def test_windows_larger_than_a_library_counts_are_rejected(cpu: CpuLibrary) -> None:
    x = ones(1, 1, 4, 4)
    text = rejection(
        cpu, "diopiConvolution2d", ones(1, 1, 1, 1), x, ones(1, 1, 2, 2), None, [2**40] * 2, [0] * 2, [1] * 2, 1
    )
    assert text.endswith("parameter 'stride': this library takes entries up to 2147483647")
    text = rejection(cpu, "diopiCol2Im", ones(1, 1, 1), ones(9, 1), [1, 1], [3, 3], [1, 1], [0, 0], [1, 1])
    assert "C4: at least one window fits into the padded images" in text
