"""Files of a vendor's folder that are read, and those that cannot be."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from header_helpers import shown
from vendor_folder import PRELUDE, check, scan, write

from diopigen.diagnostics import Sink
from diopigen.header.vendor_sources import VendorSources, scan_vendor, source_files

pytestmark = pytest.mark.usefixtures("vendor_folder")


def test_which_files_are_read() -> None:
    names = [
        "functions/a.cpp",
        "functions/sub/b.cu",
        "functions_mmcv/c.cxx",
        "functions.cc",
        "functions/readme.md",
        "functions/h.hpp",
        "functions/build/gen.cpp",
        "common/helper.cpp",
    ]
    for name in names:
        write(f"impl/camb/{name}", "")
    write("impl/flat/a.cpp", "")
    write("impl/flat/deep/b.cc", "")
    write("impl/flat/test/c.cpp", "")
    write("impl/test/functions/a.cpp", "")  # a vendor may well be called test
    assert [str(path) for path in source_files(Path("impl/camb"))] == [
        "impl/camb/functions/a.cpp",
        "impl/camb/functions/sub/b.cu",
        "impl/camb/functions.cc",
        "impl/camb/functions_mmcv/c.cxx",
    ]
    assert [str(path) for path in source_files(Path("impl/flat"))] == ["impl/flat/a.cpp", "impl/flat/deep/b.cc"]
    assert [str(path) for path in source_files(Path("impl/camb/functions"))] == [
        "impl/camb/functions/a.cpp",
        "impl/camb/functions/sub/b.cu",
    ]
    assert [str(path) for path in source_files(Path("impl/test"))] == ["impl/test/functions/a.cpp"]


def test_folders_that_cannot_be_scanned() -> None:
    sink = Sink()
    file = write("impl/file", "")
    Path("impl/empty").mkdir()
    for folder in (Path("impl/none"), file, Path("impl/empty")):
        assert scan_vendor(folder, PRELUDE, sink) == VendorSources()
    assert shown(sink) == [
        "impl/empty:1:1: warning vendor-empty: 'impl/empty' holds no source files"
        " | give a folder with .cc, .cpp, .cu, .cxx files",
        "impl/file:1:1: error vendor-unreadable: 'impl/file' is not a directory | give the folder impl/<vendor>",
        "impl/none:1:1: error vendor-unreadable: 'impl/none' does not exist | give the folder impl/<vendor>",
    ]


def test_unreadable_sources_do_not_stop_the_others() -> None:
    write("impl/camb/functions/a.cpp", b"int x; // \xff\n")
    write("impl/camb/functions/b.cpp", b"\x00\x01")
    write("impl/camb/functions/c.cpp", "DIOPI_API diopiError_t diopiNew(int a) { return diopiSuccess; }\n")
    Path("impl/camb/functions/d.cpp").symlink_to("gone.cpp")
    sink = Sink()
    found = scan(sink)
    assert [f.function.name for f in found.functions] == ["diopiNew"]
    assert found.files == ("impl/camb/functions/c.cpp",)
    assert shown(sink) == [
        "impl/camb/functions/a.cpp:1:11: error vendor-unreadable: 'impl/camb/functions/a.cpp' is not UTF-8:"
        " byte 0xff | save the file as UTF-8",
        "impl/camb/functions/b.cpp:1:1: error vendor-unreadable: 'impl/camb/functions/b.cpp' is binary:"
        " it holds a zero byte | give the path of a C or C++ source text",
    ]


def test_headers_that_do_not_parse_stop_the_scan() -> None:
    """With them every bool or size in a vendor's signatures could be an int."""
    write("impl/camb/functions/a.cpp", "diopiError_t diopiSin(bool x) { return diopiSuccess; }\n")
    write("include/diopi/functions.h", "void diopiSin(nothing x);\n")
    sink = Sink()
    assert scan(sink) == VendorSources()
    assert shown(sink) == [
        "include/diopi/functions.h:1:15: error header-syntax: unknown type name 'nothing'"
        " | include the header that declares 'nothing', or correct the name"
    ]
    sink = Sink()
    assert scan_vendor(Path("impl/camb"), [Path("no.h")], sink) == VendorSources()
    assert shown(sink) == ["no.h:1:1: error header-unreadable: 'no.h' does not exist | correct the path"]


def test_without_a_position_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        "impl/camb/functions/a.cpp",
        "#include <diopi/functions.h>\n"
        "diopiError_t diopiSum(diopiContextHandle_t c, diopiTensorHandle_t o, diopiSize_t d, bool k) { return {}; }",
    )

    def reject(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", reject)
    assert check() == (("diopiSum",), [])
