"""Shims over hosts and vendors that lack what shims can do without, and over those that lack what they need."""

from __future__ import annotations

from pathlib import Path

import pytest
from adaptor_helpers import (
    ERROR,
    NO_IMPLEMENT,
    SUCCESS,
    Library,
    build_shims,
    config,
    uniform,
)
from mock_vendor import BUILT_IN
from shim_cases import NARROW, USED, filled, function

from diopigen.ir.model import Interface


def test_vendor_without_helpers_is_told_which_is_missing(
    interface: Interface, base: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    # A vendor of one operator, and not one helper.
    source = tmp_path_factory.mktemp("lone") / "lone.cpp"
    source.write_text(
        "#include <diopi/functions.h>\n"
        "namespace impl { namespace lone { diopiError_t diopiMax(diopiContextHandle_t, diopiTensorHandle_t, "
        "diopiTensorHandle_t, diopiConstTensorHandle_t, int64_t) { return diopiSuccess; } } }\n"
    )
    rules = uniform(interface, casts=NARROW, layouts=("NCHW",), common_layouts=("NCHW",))
    shims = build_shims(interface, config(rules, {"diopiMax"}, "lone"), source.parent, [*base, source])
    lone = Library(base, shims)
    out, source_tensor = filled(lone, "int32", [2]), filled(lone, "int64", [2, 3])
    arguments = {"max": out.handle, "input": source_tensor.handle}
    assert lone.call(function(interface, "diopiMax"), arguments) == NO_IMPLEMENT
    expected = "diopiMax, parameter 'input': the conversion needs diopiCastDtype, which the vendor lacks"
    assert lone.last_error() == expected
    turned = filled(lone, "int32", [2, 3], [1, 2])
    assert lone.call(function(interface, "diopiMax"), {**arguments, "input": turned.handle}) == NO_IMPLEMENT
    expected = "diopiMax, parameter 'input': the conversion needs diopiCopyInp, which the vendor lacks"
    assert lone.last_error() == expected
    assert lone.temporaries() == 0


@pytest.fixture
def bare(interface: Interface, base: list[Path], tmp_path: Path) -> Library:
    """A host that has nothing beyond diopirt.h."""
    rules = uniform(interface, casts=NARROW)
    return Library(base, build_shims(interface, config(rules, USED | BUILT_IN), tmp_path, base, "bare.h"))


def test_host_without_descriptions_is_asked_for_each_thing(
    interface: Interface, base: list[Path], tmp_path: Path
) -> None:
    rules = uniform(interface, casts=NARROW, layouts=("NCHW",), common_layouts=("NCHW",))
    shims = build_shims(interface, config(rules, USED | BUILT_IN), tmp_path, base, "asked.h")
    asked = Library(base, shims)
    out, source, wide = (filled(asked, dtype, [2, 3]) for dtype in ("float32", "float32", "float64"))
    asked.vendor.mock_reset()
    arguments = {"out": out.handle, "input": source.handle, "other": source.handle}
    assert asked.call(function(interface, "diopiAdd"), arguments) == SUCCESS
    # Dtype, shape and stride of three tensors.
    assert (asked.vendor.mock_descriptions(), asked.vendor.mock_calls()) == (0, 9)
    assert asked.call(function(interface, "diopiAdd"), {**arguments, "other": wide.handle}) == SUCCESS
    assert [record.dtype for record in asked.records()] == ["float32"] * 3


def test_bare_host_converts_and_keeps_temporaries(bare: Library, interface: Interface) -> None:
    wide = filled(bare, "int64", [300, 8], [0, 1])
    out = filled(bare, "int32", [2])
    arguments = {"max": out.handle, "input": wide.handle}
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
def test_contiguous_serves_where_there_is_no_copy(
    interface: Interface, base: list[Path], tmp_path: Path, dtype: str
) -> None:
    source = tmp_path / "vendor.cpp"
    # Only what reads: the casts and the dense copies of the mock vendor, under another name.
    source.write_text(
        "#include <diopi/functions.h>\n"
        "namespace impl {\n"
        "namespace mock {\n"
        "diopiError_t diopiCastDtype(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);\n"
        "diopiError_t diopiContiguous(diopiContextHandle_t, diopiTensorHandle_t*, diopiConstTensorHandle_t, "
        "diopiMemoryFormat_t);\n"
        "diopiError_t diopiMax(diopiContextHandle_t, diopiTensorHandle_t, diopiTensorHandle_t, "
        "diopiConstTensorHandle_t, int64_t);\n"
        "}\n"
        "namespace reader {\n"
        "diopiError_t diopiCastDtype(diopiContextHandle_t c, diopiTensorHandle_t o, diopiConstTensorHandle_t i) {\n"
        "    return mock::diopiCastDtype(c, o, i);\n}\n"
        "diopiError_t diopiContiguous(diopiContextHandle_t c, diopiTensorHandle_t* o, diopiConstTensorHandle_t i, "
        "diopiMemoryFormat_t f) {\n    return mock::diopiContiguous(c, o, i, f);\n}\n"
        "diopiError_t diopiMax(diopiContextHandle_t c, diopiTensorHandle_t m, diopiTensorHandle_t n, "
        "diopiConstTensorHandle_t i, int64_t d) {\n    return mock::diopiMax(c, m, n, i, d);\n}\n"
        "}\n}\n"
    )
    rules = uniform(interface, casts=NARROW, layouts=("NHWC",), common_layouts=("NCHW",))
    shims = build_shims(interface, config(rules, {"diopiMax"}, "reader"), tmp_path, [*base, source])
    reader = Library(base, shims)
    values = filled(reader, dtype, [2, 3, 4, 5])
    out = filled(reader, "int32", [2])
    arguments = {"max": out.handle, "input": values.handle}
    assert reader.call(function(interface, "diopiMax"), arguments) == SUCCESS, reader.last_error()
    received = next(record for record in reader.records() if record.name == "input")
    assert (received.dtype, received.stride) == ("int32", (60, 1, 15, 3))
    assert reader.temporaries() == 0
    # What has to come back cannot: that is said before the operator runs.
    turned = filled(reader, "int32", [2, 3, 4, 5])
    before = reader.memory(turned)
    assert reader.call(function(interface, "diopiMax"), {**arguments, "max": turned.handle}) == NO_IMPLEMENT
    expected = "diopiMax, parameter 'max': the conversion needs diopiCopyInp, which the vendor lacks"
    assert reader.last_error() == expected
    assert reader.memory(turned) == before
