"""Shims over hosts and vendors that lack what shims can do without, and over those that lack what they need."""

from __future__ import annotations

import pytest
from adaptor_helpers import (
    ERROR,
    NO_IMPLEMENT,
    SUCCESS,
    Library,
    built_shims,
)
from shim_cases import filled, function

from diopigen.ir.model import Interface


def test_vendor_without_helpers_is_told_which_is_missing(interface: Interface) -> None:
    lone = built_shims("lone")
    out, source_tensor = filled(lone, "int32", [2]), filled(lone, "int64", [2, 3])
    arguments = {"max": out.handle, "input": source_tensor.handle}
    assert lone.call(function(interface, "diopiMax"), arguments) == NO_IMPLEMENT
    expected = "diopiMax, parameter 'input': the conversion needs diopiCastDtype, which the vendor lacks"
    assert lone.last_error() == expected
    transposed = filled(lone, "int32", [2, 3], [1, 2])
    assert lone.call(function(interface, "diopiMax"), {**arguments, "input": transposed.handle}) == NO_IMPLEMENT
    expected = "diopiMax, parameter 'input': the conversion needs diopiCopyInp, which the vendor lacks"
    assert lone.last_error() == expected
    assert lone.temporaries() == 0


@pytest.fixture
def bare() -> Library:
    """A host that has nothing beyond diopirt.h."""
    return built_shims("bare")


def test_host_without_descriptions_is_asked_for_each_thing(interface: Interface) -> None:
    asked = built_shims("asked")
    out, source, widened = (filled(asked, dtype, [2, 3]) for dtype in ("float32", "float32", "float64"))
    asked.vendor.mock_reset()
    arguments = {"out": out.handle, "input": source.handle, "other": source.handle}
    assert asked.call(function(interface, "diopiAdd"), arguments) == SUCCESS
    # Dtype, shape and stride of three tensors.
    assert (asked.vendor.mock_descriptions(), asked.vendor.mock_calls()) == (0, 9)
    assert asked.call(function(interface, "diopiAdd"), {**arguments, "other": widened.handle}) == SUCCESS
    assert [record.dtype for record in asked.records()] == ["float32"] * 3


def test_bare_host_converts_and_keeps_temporaries(bare: Library, interface: Interface) -> None:
    widened = filled(bare, "int64", [300, 8], [0, 1])
    out = filled(bare, "int32", [2])
    arguments = {"max": out.handle, "input": widened.handle}
    # A cast that will not write one element several times says so.
    assert bare.call(function(interface, "diopiMax"), arguments) == ERROR
    expected = "diopiMax, parameter 'input': diopiCastDtype failed with status 1: the output overlaps itself"
    assert bare.last_error() == expected
    bare.vendor.mock_reset()
    bare.vendor.mock_refuses_overlap(False)
    assert bare.call(function(interface, "diopiMax"), arguments) == SUCCESS
    assert next(record for record in bare.records() if record.name == "input").stride == (0, 1)
    assert bare.vendor.mock_largest_allocation() == 8 * 4
    assert bare.temporaries() == 2  # those of both calls


@pytest.mark.parametrize(("value", "status"), [(2.0**31 - 1, SUCCESS), (2.0**31, ERROR)])
def test_bare_host_finds_overflow_by_casting_back(
    bare: Library, interface: Interface, value: float, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = filled(bare, "int64", [3]), filled(bare, "int32", [2])
    bare.write(source, [0.0, 1.0, value])
    monkeypatch.setenv("DIOPI_CHECK_OVERFLOW", "1")
    arguments = {"max": out.handle, "input": source.handle}
    assert bare.call(function(interface, "diopiMax"), arguments) == status
    floating = filled(bare, "float64", [3])
    assert bare.call(function(interface, "diopiMax"), {**arguments, "input": floating.handle}) == NO_IMPLEMENT
    assert bare.last_error().endswith("for DIOPI_CHECK_OVERFLOW, which the vendor lacks")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_contiguous_serves_where_there_is_no_copy(interface: Interface, dtype: str) -> None:
    reader = built_shims("reader")
    values = filled(reader, dtype, [2, 3, 4, 5])
    out = filled(reader, "int32", [2])
    arguments = {"max": out.handle, "input": values.handle}
    assert reader.call(function(interface, "diopiMax"), arguments) == SUCCESS, reader.last_error()
    received = next(record for record in reader.records() if record.name == "input")
    assert (received.dtype, received.stride) == ("int32", (60, 1, 15, 3))
    assert reader.temporaries() == 0
    # What has to come back cannot: that is said before the operator runs.
    transposed = filled(reader, "int32", [2, 3, 4, 5])
    before = reader.memory(transposed)
    assert reader.call(function(interface, "diopiMax"), {**arguments, "max": transposed.handle}) == NO_IMPLEMENT
    expected = "diopiMax, parameter 'max': the conversion needs diopiCopyInp, which the vendor lacks"
    assert reader.last_error() == expected
    assert reader.memory(transposed) == before
