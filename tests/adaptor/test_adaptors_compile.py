"""The text of shims: it compiles under every standard, is formatted, and is the same whenever it is made."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adaptor_helpers import INCLUDES, cast, config, run, uniform, write
from artefacts import ROOT
from programs import program

from diopigen.config.model import ResolvedConfig
from diopigen.config.reader import parse_config
from diopigen.config.resolve import resolve
from diopigen.diagnostics import Sink
from diopigen.emit.adaptor.library import emit_adaptors
from diopigen.emit.adaptor.shim import RESERVED
from diopigen.ir.model import Interface

DATA = ROOT / "tests/config/data"
VENDORS = ("ascend", "camb", "kunlunxin", "muxi", "topsrider", "torch")
COMPILERS = [
    *(("g++", standard) for standard in ("c++14", "c++17", "c++20")),
    *(("clang++", standard) for standard in ("c++14", "c++20")),
]


def real(vendor: str, interface: Interface) -> ResolvedConfig:
    """Configuration of a vendor, and the operators that it implements."""
    implemented = json.loads((DATA / "vendor_functions.json").read_text())[vendor]
    sink = Sink()
    parsed = parse_config((DATA / f"vendors/{vendor}.yaml").read_text(encoding="utf-8"), "convert_config.yaml", sink)
    assert parsed is not None
    resolved = resolve(parsed, interface, vendor, frozenset(implemented), sink)
    assert not sink.has_errors
    return resolved


def whole(interface: Interface) -> ResolvedConfig:
    """Every function, each with conversions."""
    rules = uniform(
        interface,
        casts=(cast("int64", "int32"), cast("float64", "float32")),
        layouts=("NHWC", "NCHW"),
        common_layouts=("NCHW",),
    )
    return config(rules, {function.name for function in interface.functions}, "whole")


def _cases() -> Iterator[Any]:
    """Every vendor with every compiler; a change compiles the smallest and the largest with the ends of the list."""
    for vendor in (*VENDORS, "whole"):
        for compiler, standard in COMPILERS:
            often = vendor in ("camb", "whole") and (compiler, standard) in (COMPILERS[0], COMPILERS[-1])
            yield pytest.param(vendor, compiler, standard, marks=() if often else pytest.mark.slow)


@pytest.mark.parametrize(("vendor", "compiler", "standard"), list(_cases()))
def test_shims_compile(vendor: str, compiler: str, standard: str, interface: Interface, tmp_path: Path) -> None:
    source = write(interface, whole(interface) if vendor == "whole" else real(vendor, interface), tmp_path)
    how = (f"-std={standard}", "-O0", "-fPIC", "-Wall", "-Wextra", "-Werror", *INCLUDES)
    run([program(compiler, compiler.rstrip("+")), *how, "-c", source, "-o", tmp_path / "shims.o"])


def test_worked_example_becomes_a_library(tmp_path: Path) -> None:
    library = tmp_path / "libdiopi_impl.so"
    sources = [ROOT / "generated/adaptors/camb/adaptor.cpp", *sorted((ROOT / "impl/camb").rglob("*.cpp"))]
    run(
        [
            "g++",
            "-std=c++17",
            "-O0",
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-Werror",
            *INCLUDES,
            "-shared",
            *sources,
            "-o",
            library,
        ]
    )
    symbols = [line.split("(")[0].split() for line in run(["nm", "-D", "-C", library]).splitlines()]
    defined = {words[-1] for words in symbols if words[-2] in "TW"}
    kernels = {name.removeprefix("impl::camb::") for name in defined if name.startswith("impl::camb::")}
    public = {name for name in defined if name.startswith("diopi")}
    assert len(kernels) == 24
    # Those of the kernels, and what the configuration makes of others.
    assert public == kernels | {"diopiGetLastErrorString", "diopigenShimLayouts"}


def test_a_library_says_which_layouts_it_converts_to() -> None:
    """Of the worked example: images have their channels last, filters do not; the rest is not named."""
    text = (ROOT / "generated/adaptors/camb/adaptor.cpp").read_text(encoding="utf-8")
    lines = text.split('return R"(')[1].split(')"')[0].split("\n")
    assert "diopiConvolution2d channels_last 3,4,5 0:out 1:input 3:bias" in lines
    assert "diopiConvolution2d row_major 3,4,5 2:weight" in lines
    assert not any(line.startswith("diopiAdd ") for line in lines)


@pytest.mark.parametrize("vendor", [*VENDORS, "whole"])
def test_shims_are_formatted(vendor: str, interface: Interface, tmp_path: Path) -> None:
    resolved = whole(interface) if vendor == "whole" else real(vendor, interface)
    source = write(interface, resolved, tmp_path)
    for path in (source, source.with_name("functions.h")):
        command = ["clang-format", f"--style=file:{ROOT / '.clang-format'}", str(path)]
        formatted = subprocess.run(command, capture_output=True, check=True).stdout
        assert formatted.decode() == path.read_text()


def test_same_input_gives_the_same_bytes(interface: Interface) -> None:
    first = emit_adaptors(interface, whole(interface), ROOT / "templates")
    second = emit_adaptors(interface, whole(interface), ROOT / "templates")
    assert dict(first) == dict(second)
    assert set(first) == {"adaptor.cpp", "functions.h"}
    assert str(ROOT).encode() not in b"".join(first.values())


def test_two_vendors_share_no_name(interface: Interface) -> None:
    one = emit_adaptors(interface, real("camb", interface), ROOT / "templates")
    two = emit_adaptors(interface, real("ascend", interface), ROOT / "templates")
    assert b"impl::ascend" not in one["adaptor.cpp"]
    assert b"impl::camb" not in two["adaptor.cpp"]


def test_no_parameter_hides_a_name_that_shims_use(interface: Interface) -> None:
    names = {param.name for function in interface.functions for param in function.params}
    assert not names & RESERVED
