"""What no case of the suite shows: constraints that read elements, and calls that a library may take or reject."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cpu_library import CallFailed, CpuLibrary

Array = np.ndarray[Any, Any]


def refused(cpu: CpuLibrary, function: str, *arguments: Any) -> str:
    with pytest.raises(CallFailed) as failure:
        cpu.call(function, *arguments)
    return failure.value.text


def test_topk_takes_nothing_of_a_number(cpu: CpuLibrary) -> None:
    cpu.call("diopiTopk", np.zeros(0, np.float32), np.zeros(0, np.int64), np.array(3, np.float32), 0, 0, True, True)


@pytest.mark.parametrize(("count", "text"), [(0, "C4: inputsNum"), (65, "C3: every out")])
def test_grids_have_as_many_dimensions_as_a_tensor_may_have(cpu: CpuLibrary, count: int, text: str) -> None:
    vectors = [np.ones(1, np.float32)] * count
    grids = [np.zeros(1, np.float32) for _ in range(count)]
    assert text in refused(cpu, "diopiMeshGrid", grids, vectors, count)


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
def test_positions_of_maxima_lie_in_their_plane(cpu: CpuLibrary, dims: int, index: int) -> None:
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4, *[1] * (dims - 1))
    grad = np.ones((1, 1, 1, *[1] * (dims - 1)), np.float32)
    out = np.zeros_like(x)
    kernel, one, zero = [4, *[1] * (dims - 1)], [1] * dims, [0] * dims
    arguments = (kernel, kernel, zero, one, False)

    def calls(places: Array) -> list[tuple[str, tuple[Any, ...]]]:
        return [
            (f"diopiMaxPool{dims}dBackward", (out, grad, x, *arguments, places)),
            (f"diopiAdaptiveMaxPool{dims}dBackward", (out, grad, x, places)),
            (f"diopiPool{dims}dBackward", (out, grad, x, "max", *arguments, True, False, places)),
        ]

    for function, call in calls(np.full(grad.shape, index)):
        assert "every index is -1 or a position in its plane" in refused(cpu, function, *call)
    for function, call in calls(np.full(grad.shape, -1)):
        out.fill(5)
        cpu.call(function, *call)
        assert not out.any()
