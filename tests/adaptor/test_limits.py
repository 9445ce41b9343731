"""Ranks and alignment of a chip's file: calls of higher rank fall back, buffers are aligned."""

from __future__ import annotations

import pytest
from adaptor_helpers import HOST, NO_IMPLEMENT, SUCCESS, Library, Tensor, built_shims
from shim_cases import filled, function

from diopigen.ir.model import Interface

LIMIT = 16
"""Bytes, as in shim_builds.py; malloc, which the device of the test allocates with, aligns so."""
NAMES = ("out", "input", "other")


@pytest.fixture(params=["limits", "limits_asked"])
def library(request: pytest.FixtureRequest) -> Library:
    """With a host that describes tensors, and with one that is asked for each thing."""
    found = built_shims(request.param)
    found.vendor.mock_reset()
    return found


def add(library: Library, interface: Interface, tensors: list[Tensor]) -> int:
    library.vendor.mock_reset()
    handles = [tensor.handle for tensor in tensors]
    return library.call(function(interface, "diopiAdd"), dict(zip(NAMES, handles, strict=True)))


def shifted(library: Library, size: list[int], offset: int) -> Tensor:
    """A tensor of float32, some elements behind the start of its storage."""
    tensor = library.tensor("float32", size, offset=offset)
    library.write(tensor, [float(position) for position in range(tensor.count)])
    return tensor


def test_a_call_of_higher_rank_is_left_to_the_fallback(library: Library, interface: Interface) -> None:
    tensors = [filled(library, "float32", [2, 3, 4]) for _ in NAMES]
    before = library.read(tensors[0].handle, 24)
    assert add(library, interface, tensors) == NO_IMPLEMENT
    assert library.last_error() == "diopiAdd, parameter 'out': 3 dimensions; the chip takes at most 2"
    assert library.records() == []
    assert library.read(tensors[0].handle, 24) == before


def test_one_tensor_of_higher_rank_is_enough(library: Library, interface: Interface) -> None:
    tensors = [filled(library, "float32", size) for size in ([2, 3], [2, 3], [1, 2, 3])]
    assert add(library, interface, tensors) == NO_IMPLEMENT
    assert "parameter 'other': 3 dimensions" in library.last_error()


def test_what_is_aligned_passes_as_it_is(library: Library, interface: Interface) -> None:
    tensors = [shifted(library, [2, 3], LIMIT // 4) for _ in NAMES]
    assert add(library, interface, tensors) == SUCCESS
    assert [record.handle for record in library.records()] == [tensor.handle for tensor in tensors]


def test_what_is_not_aligned_is_copied_in_and_out(library: Library, interface: Interface) -> None:
    aligned = [shifted(library, [2, 3], 0) for _ in NAMES]
    assert add(library, interface, aligned) == SUCCESS
    expected = library.read(aligned[0].handle, 6)
    tensors = [shifted(library, [2, 3], 1) for _ in NAMES]
    assert add(library, interface, tensors) == SUCCESS, library.last_error()
    records = library.records()
    assert not {record.handle for record in records} & {tensor.handle for tensor in tensors}
    assert [(record.dtype, record.size, record.stride) for record in records] == [("float32", (2, 3), (3, 1))] * 3
    assert library.read(tensors[0].handle, 6) == expected


def test_host_memory_has_no_limits_of_the_chip(library: Library, interface: Interface) -> None:
    """As with other conversions: what is in host memory is read by the CPU."""
    tensors = [library.tensor("float32", [2, 3, 4], offset=1, device=HOST) for _ in NAMES]
    assert add(library, interface, tensors) == SUCCESS, library.last_error()
