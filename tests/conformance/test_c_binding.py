"""The binding: C types become ctypes, and what does not load is a finding."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from diopigen.conformance.run.binding import Host, ScalarStruct, SizeStruct, Types, load_shared, size_struct
from diopigen.conformance.run.runner import run
from diopigen.conformance.strides import reach, strides_of
from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface


def test_every_function_has_argument_types(interface: Interface) -> None:
    types = Types(interface)
    for function in interface.functions:
        assert len(types.arguments(function)) == len(function.params) + function.context


def test_c_types(interface: Interface) -> None:
    types = Types(interface)
    assert types.of("diopiConstTensorHandle_t") is ctypes.c_void_p
    assert types.of("diopiTensorHandle_t *") is ctypes.POINTER(ctypes.c_void_p)
    assert types.of("const diopiScalar_t *") is ctypes.POINTER(ScalarStruct)
    assert types.of("diopiSize_t") is SizeStruct
    assert types.of("const int64_t *") is ctypes.POINTER(ctypes.c_int64)
    assert types.of("const char *") is ctypes.c_char_p
    assert types.of("diopiReduction_t") is ctypes.c_int
    assert types.of("diopiDeviceIndex_t") is ctypes.c_int8
    assert types.of("const void **") is ctypes.POINTER(ctypes.c_void_p)
    with pytest.raises(KeyError):
        types.of("diopiNothing_t")


def test_structs_are_laid_out_as_the_interface_says(interface: Interface) -> None:
    sizes = {struct.name: struct.size for struct in interface.structs}
    assert (ctypes.sizeof(SizeStruct), ctypes.sizeof(ScalarStruct)) == (sizes["diopiSize_t"], sizes["diopiScalar_t"])
    assert ScalarStruct.fval.offset == ScalarStruct.ival.offset == 8
    struct = size_struct((3, 4))
    assert (struct.len, struct.data[:2]) == (2, [3, 4])
    assert (size_struct(()).len, bool(size_struct(()).data)) == (0, False)


def test_layouts() -> None:
    assert strides_of((2, 3, 4), "contiguous") == (12, 4, 1)
    assert strides_of((2, 0, 4), "contiguous") == (4, 4, 1)
    assert strides_of((2, 3), "transposed") == (1, 2)
    assert strides_of((2, 3), "strided") == (7, 2)
    assert strides_of((5, 3), "expanded") == (0, 1)
    assert strides_of((2, 3, 4, 5), "channels-last") == (60, 1, 15, 3)
    assert (reach((2, 3), (7, 2)), reach((0, 3), (3, 1)), reach((), ())) == (12, 0, 1)


def test_a_library_that_is_not_there_or_no_library_is_a_finding(
    interface: Interface, runtime: Path, tmp_path: Path
) -> None:
    with pytest.raises(Failure) as error:
        load_shared(tmp_path / "libnone.so", "the library under test", ctypes.DEFAULT_MODE)
    assert error.value.diagnostics[0].code == "library-missing"
    broken = tmp_path / "libbroken.so"
    broken.write_text("no library")
    with pytest.raises(Failure) as error:
        load_shared(broken, "the library under test", ctypes.DEFAULT_MODE)
    assert error.value.diagnostics[0].code == "library-unloadable"
    from diopigen.conformance.cases.suite import select

    cases = select(interface, ops=["Add"], axes=["plain"])[:1]
    with pytest.raises(Failure) as error:
        run(cases, interface, broken, runtime)
    assert error.value.diagnostics[0].code == "library-unloadable"
    with pytest.raises(Failure) as error:
        run(cases, interface, broken, tmp_path / "libnone.so")
    assert error.value.diagnostics[0].code == "library-missing"


def test_a_runtime_without_the_host_functions_is_a_finding(tiny_library: Path, runtime: Path) -> None:
    Host(runtime)
    with pytest.raises(Failure) as error:
        Host(tiny_library)
    assert error.value.diagnostics[0].code == "runtime-incomplete"
