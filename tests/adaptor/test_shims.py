"""Properties of shims, one at a time, on suitable operators."""

from __future__ import annotations

import ctypes
import subprocess

import pytest
from adaptor_helpers import (
    DTYPE_NOT_SUPPORTED,
    ERROR,
    HOST,
    SUCCESS,
    Library,
    built_shims,
    preset,
)
from artefacts import artefact
from mock_vendor import BUILT_IN
from shim_cases import USED, filled, function

from diopigen.ir.model import Interface


@pytest.fixture(scope="module")
def library() -> Library:
    """Casts everywhere; layouts for softmax (row-major) and convolution (channels-last, by preference)."""
    return built_shims("promises")


@pytest.fixture(autouse=True)
def fresh(library: Library) -> None:
    library.vendor.mock_reset()


def test_tensor_that_fits_is_asked_about_once(library: Library, interface: Interface) -> None:
    add = function(interface, "diopiAdd")
    out, source, other = (filled(library, "float32", [2, 3]) for _ in range(3))
    library.vendor.mock_reset()
    assert library.call(add, {"out": out.handle, "input": source.handle, "other": other.handle}) == SUCCESS
    assert (library.vendor.mock_descriptions(), library.vendor.mock_calls()) == (3, 3)
    assert [record.handle for record in library.records()] == [out.handle, source.handle, other.handle]


def test_host_that_knows_nothing_of_a_tensor_is_asked_for_each_thing(library: Library, interface: Interface) -> None:
    add = function(interface, "diopiAdd")
    out, source, other = (filled(library, dtype, [2, 3]) for dtype in ("float32", "float32", "float64"))
    arguments = {"out": out.handle, "input": source.handle, "other": other.handle}
    library.vendor.mock_fail_at(ctypes.c_int64(1))
    assert library.call(add, arguments) == SUCCESS, library.last_error()
    assert library.vendor.mock_failed() == b"diopiHostDescribeTensor"
    assert [record.dtype for record in library.records()] == ["float32"] * 3
    assert library.vendor.mock_casts() == 1


def test_expanded_input_costs_what_it_holds(library: Library, interface: Interface) -> None:
    # 8 KB of int64 that look like 8 MB.
    widened = filled(library, "int64", [1_000, 1024], [0, 1])
    out = filled(library, "int32", [2])
    library.vendor.mock_reset()
    status = library.call(function(interface, "diopiMax"), {"max": out.handle, "input": widened.handle})
    assert status == SUCCESS, library.last_error()
    received = next(record for record in library.records() if record.name == "input")
    assert (received.dtype, received.size, received.stride) == ("int32", (1_000, 1024), (0, 1))
    assert library.vendor.mock_largest_allocation() == 1024 * 4
    assert library.vendor.mock_casts() == 1


def test_sparse_strides_cost_what_they_hold(library: Library, interface: Interface) -> None:
    gaps = filled(library, "int64", [1000], [10_000])
    out = filled(library, "int32", [2])
    library.vendor.mock_reset()
    assert library.call(function(interface, "diopiMax"), {"max": out.handle, "input": gaps.handle}) == SUCCESS
    assert next(record for record in library.records() if record.name == "input").stride == (1,)
    assert library.vendor.mock_largest_allocation() == 1000 * 4


def test_sliding_windows_cost_what_they_hold(library: Library, interface: Interface) -> None:
    windows = filled(library, "int64", [500, 300], [1, 1])
    out = filled(library, "int32", [2])
    library.vendor.mock_reset()
    assert library.call(function(interface, "diopiMax"), {"max": out.handle, "input": windows.handle}) == SUCCESS
    assert library.vendor.mock_largest_allocation() == 799 * 4


def test_cast_keeps_the_strides_of_a_dense_tensor(library: Library, interface: Interface) -> None:
    transposed = filled(library, "int64", [3, 4], [1, 3])
    out = filled(library, "int32", [2])
    assert library.call(function(interface, "diopiMax"), {"max": out.handle, "input": transposed.handle}) == SUCCESS
    assert next(record for record in library.records() if record.name == "input").stride == (1, 3)


def test_preferred_layout_is_taken_only_where_none_fits(library: Library, interface: Interface) -> None:
    convolution = function(interface, "diopiConvolution2d")
    first = filled(library, "float32", [2, 3, 4, 5])
    last = filled(library, "float32", [2, 3, 4, 5], [60, 1, 15, 3])
    neither = filled(library, "float32", [2, 3, 4, 5], [1, 2, 6, 24])
    arguments = {"out": first.handle, "input": last.handle, "weight": neither.handle}
    assert library.call(convolution, arguments) == SUCCESS
    records = {record.name: record for record in library.records()}
    assert records["out"].handle == first.handle
    assert records["input"].handle == last.handle
    assert records["weight"].stride == (60, 1, 15, 3)
    assert (library.vendor.mock_casts(), library.vendor.mock_copies()) == (0, 1)


def test_dtype_and_layout_change_in_one_pass(library: Library, interface: Interface) -> None:
    softmax = function(interface, "diopiSoftmax")
    out = filled(library, "float64", [3, 4], [1, 3])
    source = filled(library, "float64", [3, 4], [1, 3])
    assert library.call(softmax, {"out": out.handle, "input": source.handle}) == SUCCESS
    assert [(record.dtype, record.stride) for record in library.records()] == [("float32", (4, 1))] * 2
    # One pass in and one back, and nothing for the output on the way in.
    assert (library.vendor.mock_casts(), library.vendor.mock_copies()) == (0, 2)


def test_same_handle_is_converted_once(library: Library, interface: Interface) -> None:
    add = function(interface, "diopiAdd")
    both = filled(library, "int64", [2, 3])
    assert library.call(add, {"out": both.handle, "input": both.handle, "other": both.handle}) == SUCCESS
    assert len({record.handle for record in library.records()}) == 1
    assert library.vendor.mock_casts() == 2  # in and back


def test_two_handles_of_the_same_memory_stay_one_tensor(library: Library, interface: Interface) -> None:
    add = function(interface, "diopiAdd")
    one = filled(library, "int64", [2, 3])
    other = ctypes.c_void_p()
    size = (ctypes.c_int64 * 2)(2, 3)

    class Size(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("len", ctypes.c_int64))

    sizes = Size(ctypes.addressof(size), 2)
    create = library.runtime.diopiHostCreateView
    created = create(ctypes.byref(other), ctypes.c_void_p(one.storage), ctypes.byref(sizes), None, ctypes.c_int64(0), 6)
    assert created == SUCCESS
    assert library.call(add, {"out": one.handle, "input": other.value, "other": one.handle}) == SUCCESS
    assert len({record.handle for record in library.records()}) == 1


def test_tensors_that_share_a_part_of_their_memory_are_rejected(library: Library, interface: Interface) -> None:
    """The operator would get temporaries of their own, and could not see it."""
    add = function(interface, "diopiAdd")
    one = filled(library, "int64", [4])
    size, other = (ctypes.c_int64 * 1)(3), filled(library, "int64", [3])

    class Size(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("len", ctypes.c_int64))

    views = []
    for offset in (0, 1):
        view = ctypes.c_void_p()
        sizes = Size(ctypes.addressof(size), 1)
        overlap = (ctypes.c_void_p(one.storage), ctypes.byref(sizes), None, ctypes.c_int64(offset), 6)
        assert library.runtime.diopiHostCreateView(ctypes.byref(view), *overlap) == SUCCESS
        views.append(view.value)
    assert library.call(add, {"out": views[0], "input": views[1], "other": other.handle}) != SUCCESS
    assert library.last_error() == "diopiAdd, parameters 'out' and 'input' share a part of their memory"
    assert not library.records()
    # Inputs may share what they like.
    assert library.call(add, {"out": other.handle, "input": views[0], "other": views[1]}) == SUCCESS


def test_tensor_array_is_converted_and_left_alone(library: Library, interface: Interface) -> None:
    cat = function(interface, "diopiCat")
    tensors = [filled(library, "int64" if position % 2 else "int32", [2, 2]) for position in range(40)]
    array = (ctypes.c_void_p * 40)(*[tensor.handle for tensor in tensors])
    out = filled(library, "int64", [80, 2])
    arguments = {"out": out.handle, "tensors": ctypes.addressof(array), "num_inputs": 40}
    assert library.call(cat, arguments) == SUCCESS
    records = [record for record in library.records() if record.name == "tensors"]
    assert [record.dtype for record in records] == ["int32"] * 40
    assert [record.handle for record in records[::2]] == [tensor.handle for tensor in tensors[::2]]
    assert list(array) == [tensor.handle for tensor in tensors]


def test_new_tensor_has_the_dtype_of_the_interface(library: Library, interface: Interface) -> None:
    slot = (ctypes.c_void_p * 1)(0x5A5A)
    source = filled(library, "float64", [3])
    # The operator makes int32 where the interface says int64.
    library.vendor.mock_narrows_results(True)
    nonzero = function(interface, "diopiNonzero")
    arguments = {"out": ctypes.addressof(slot), "input": source.handle}
    assert library.call(nonzero, arguments) == SUCCESS
    assert library.describe(slot[0] or 0) == ("int64", (3, 2))
    library.release(slot[0] or 0)
    # It gives what it got, float32, where the caller's input is float64.
    library.vendor.mock_narrows_results(False)
    assert library.call(function(interface, "diopiIndex"), arguments) == SUCCESS
    assert library.describe(slot[0] or 0) == ("float64", (3, 2))
    library.release(slot[0] or 0)
    assert library.temporaries() == 0


def test_new_tensor_of_several_dtypes_follows_the_input_that_was_cast(library: Library, interface: Interface) -> None:
    slots = (ctypes.c_void_p * 4)()
    feats, coors = filled(library, "float64", [3]), filled(library, "int64", [3])
    arguments = {"outlist": ctypes.addressof(slots), "feats": feats.handle, "coors": coors.handle}
    assert library.call(function(interface, "diopiDynamicPointToVoxelMmcv"), arguments) == SUCCESS
    # The mock makes int32, which is what the coordinates were cast to.
    assert [library.describe(slot or 0)[0] for slot in slots] == ["int64"] * 4
    for slot in slots:
        library.release(slot or 0)


def test_host_tensors_are_left_alone(library: Library, interface: Interface) -> None:
    add = function(interface, "diopiAdd")
    out, source = filled(library, "int64", [2]), filled(library, "int64", [2])
    host = library.tensor("int64", [2], device=HOST)
    assert library.call(add, {"out": out.handle, "input": source.handle, "other": host.handle}) == SUCCESS
    records = {record.name: record for record in library.records()}
    assert records["other"].handle == host.handle
    assert records["input"].dtype == "int32"


def sparse(library: Library, dtype: str) -> int:
    rows = library.tensor("int32", [3])
    library.write(rows, [0.0, 1.0, 2.0])
    columns, values = library.tensor("int32", [2]), library.tensor(dtype, [2])
    created = ctypes.c_void_p()

    class Size(ctypes.Structure):
        _fields_ = (("data", ctypes.c_void_p), ("len", ctypes.c_int64))

    size = (ctypes.c_int64 * 2)(2, 4)
    status = library.runtime.diopiHostCreateSparseCsr(
        ctypes.byref(created),
        ctypes.byref(Size(ctypes.addressof(size), 2)),
        *(ctypes.c_void_p(part.handle) for part in (rows, columns, values)),
    )
    assert status == SUCCESS
    return created.value or 0


def test_sparse_tensor_that_would_have_to_be_cast_is_rejected(library: Library, interface: Interface) -> None:
    multiply = function(interface, "diopiSpMM")
    names = [param.name for param in multiply.params if param.type == "tensor" and param.direction == "in"]
    out, dense = filled(library, "float64", [2, 2]), filled(library, "float64", [4, 2])
    arguments = {multiply.params[0].name: out.handle, names[0]: sparse(library, "float64"), names[1]: dense.handle}
    assert library.call(multiply, arguments) == DTYPE_NOT_SUPPORTED
    expected = f"diopiSpMM, parameter '{names[0]}': a sparse tensor of float64 cannot be converted"
    assert library.last_error() == expected


@pytest.mark.parametrize(("value", "status"), [(2.0**31 - 1, SUCCESS), (2.0**31, ERROR), (-(2.0**31) - 1, ERROR)])
def test_overflow_is_an_error_on_request(
    library: Library, interface: Interface, value: float, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = filled(library, "int64", [2, 3], [1, 2])
    library.write(source, [0.0, 1.0, 2.0, 3.0, 4.0, value])
    out = filled(library, "int32", [2])
    arguments = {"max": out.handle, "input": source.handle}
    assert library.call(function(interface, "diopiMax"), arguments) == SUCCESS
    monkeypatch.setenv("DIOPI_CHECK_OVERFLOW", "1")
    assert library.call(function(interface, "diopiMax"), arguments) == status
    if status == ERROR:
        text = "diopiMax, parameter 'input': a value of int64 does not fit into int32"
        assert library.last_error() == text
        assert library.temporaries() == 0


@pytest.mark.parametrize(
    ("value", "status"),
    [(3.4e38, SUCCESS), (3.5e38, ERROR), (-3.5e38, ERROR), (float("inf"), SUCCESS), (float("nan"), SUCCESS)],
)
def test_floating_overflow_is_an_error_on_request(
    library: Library, interface: Interface, value: float, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = filled(library, "float64", [2])
    library.write(source, [1.0, value])
    out = filled(library, "int32", [2])
    monkeypatch.setenv("DIOPI_CHECK_OVERFLOW", "1")
    # The mock reads values as integers, which these are not: the check comes before the operator.
    library.vendor.mock_operator_throws(True)
    assert library.call(function(interface, "diopiMax"), {"max": out.handle, "input": source.handle}) == ERROR
    thrown = library.last_error() == "diopiMax: exception: thrown by the operator"
    assert thrown == (status == SUCCESS)


def test_null_tensors_pass(library: Library, interface: Interface) -> None:
    tensor = filled(library, "int64", [2, 3])
    normalise = function(interface, "diopiLayerNorm")
    assert library.call(normalise, {"out": tensor.handle, "input": tensor.handle}) == SUCCESS
    assert {record.name for record in library.records()} == {"out", "input"}


def test_failure_of_the_vendor_keeps_the_vendors_text(library: Library, interface: Interface) -> None:
    out = filled(library, "int32", [2])
    broken = filled(library, "int64", [2])
    library.vendor.mock_fail_at(ctypes.c_int64(14))
    arguments = {"max": out.handle, "input": broken.handle}
    assert library.call(function(interface, "diopiMax"), arguments) == ERROR
    assert library.last_error().startswith("diopiMax, parameter 'input': ")
    library.vendor.mock_operator_status(5)
    assert library.call(function(interface, "diopiMax"), {"max": out.handle, "input": out.handle}) == 5
    assert library.last_error() == "the operator fails"


def test_shims_export_the_interface_and_their_layouts_all_weak() -> None:
    """Two vendors' shims can be in one program."""
    library = artefact("adaptor/libshims_promises.so", preset())
    listing = subprocess.run(
        ["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout
    symbols = {line.split()[2]: line.split()[1] for line in listing.splitlines()}
    # Templates and inline functions of the standard library are weak everywhere, and all alike.
    standard = ("_ZSt", "_ZNSt", "_ZNKSt", "_ZTS", "_ZTI", "DW.ref.")
    own = {name: kind for name, kind in symbols.items() if not name.startswith(standard)}
    assert own == dict.fromkeys([*USED, *BUILT_IN, "diopiGetLastErrorString", "diopigenShimLayouts"], "W")
