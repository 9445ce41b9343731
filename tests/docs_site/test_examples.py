"""The examples of the pages: those in C compile with the generated headers, those in Python run."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from artefacts import artefact

from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = (
    "Relu", "Add", "Convolution2d", "BatchNorm", "Cat", "SplitWithSizes", "Normal", "Unique", "Equal", "Real", "Gelu",
    "Sort", "ForeachnormScalar", "ClipGradNorm", "LinalgVecNorm", "Convolution2dBackward", "RandomInp", "CastDtype",
    "Nonzero",
)  # fmt: skip
"""Operators whose parameters are of all kinds: arrays, allocated outputs, scalars, lists, texts, enums, generators."""
FEW = ("Relu", "Add", "Convolution2d", "RandomInp", "Unique")


def example(site: Path, operator: str, language: str) -> str:
    """An example of a page."""
    page = (site / "operators" / f"{operator}.html").read_text(encoding="utf-8")
    found = re.search(rf'<code class="language-{language}">(.*?)</code>', page, re.DOTALL)
    assert found is not None, f"{operator} has no example in {language}"
    return html.unescape(found[1])


def test_every_operator_of_a_library_has_examples(site: Path, interface: Interface) -> None:
    without = {
        function.operator
        for function in interface.functions
        if function.family != "runtime"
        and not function.is_collective  # one process makes no sense of them
        and function.returns == "status"
        and "language-c" not in (site / f"operators/{function.operator}.html").read_text(encoding="utf-8")
    }
    # Of no tensor that a host could pass: an opaque pointer, and sparse rows.
    assert without == {"TensorDestructionHook", "SpMM"}


def test_examples_in_c_compile(site: Path, interface: Interface, tmp_path: Path) -> None:
    known = {function.operator for function in interface.functions}
    for operator in SAMPLE:
        assert operator in known
        (tmp_path / f"{operator}.c").write_text(example(site, operator, "c"))
    include = ("-I", str(ROOT / "generated/include"), "-I", str(ROOT / "runtime/include"))
    options = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only")
    sources = sorted(map(str, tmp_path.glob("*.c")))
    done = subprocess.run(["gcc", *options, *include, *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_examples_in_python_are_python(site: Path) -> None:
    for operator in SAMPLE:
        compile(example(site, operator, "python"), operator, "exec")


@pytest.fixture
def build(runtime: Path, tmp_path: Path) -> Path:
    """A folder with the library where examples expect it."""
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "libdiopi_impl.so").symlink_to(artefact("libdiopi_impl.so"))
    (folder / "libdiopirt.so").symlink_to(runtime)
    return folder


@pytest.fixture(scope="session")
def runtime() -> Path:
    """libdiopirt.so."""
    return artefact("libdiopirt.so")


def test_examples_in_python_run(site: Path, build: Path) -> None:
    """One process for all: most of the time of one is that of reading the spec."""
    script = "\n".join(example(site, operator, "python") for operator in FEW)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=build.parent,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "out\n[ 0." in done.stdout


def test_examples_in_c_run(site: Path, build: Path, tmp_path: Path) -> None:
    (tmp_path / "relu.c").write_text(example(site, "Relu", "c"))
    include = ("-I", str(ROOT / "generated/include"), "-I", str(ROOT / "runtime/include"))
    # The functions of the interface are weak: by themselves they do not keep a library.
    linked = ("-Wl,--no-as-needed", f"-Wl,-rpath,{build}")
    libraries = (str(build / "libdiopi_impl.so"), str(build / "libdiopirt.so"))
    subprocess.run(["gcc", *include, "relu.c", *linked, *libraries, "-o", "relu"], cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "relu")], capture_output=True, text=True)
    assert done.returncode == 0
    # max(x, 0) of the example's values, by hand.
    assert done.stdout == "status 0\nout 0 0 0 3 inf nan\n"


def test_a_call_from_python(build: Path) -> None:
    from diopigen.calling import CallError, Library

    library = Library(str(build / "libdiopi_impl.so"))
    left = np.array([[1.0, -2.0]], dtype="float32")
    results = library.call("diopiAdd", input=left, other=np.array([[0.5], [4.0]], dtype="float32"), alpha=2)
    assert results["out"].tolist() == [[2.0, -1.0], [9.0, 6.0]]
    assert library.call("diopiReluInp", input=left)["input"].tolist() == [[1.0, 0.0]]
    assert left.tolist() == [[1.0, -2.0]], "the caller's array is left alone"
    bits = np.array([1 + 2j], dtype="complex64")
    assert library.call("diopiImag", input=bits)["out"].tolist() == [2.0]
    with pytest.raises(CallError) as rejected:
        library.call("diopiClampScalar", input=left, min=None, max=None)
    assert rejected.value.status == "diopiErrorOccurred" and "C1" in str(rejected.value)
    with pytest.raises(Failure, match="'diopiAddd'"):
        library.call("diopiAddd")
    with pytest.raises(Failure, match="no parameter 'inputs'"):
        library.call("diopiRelu", inputs=left)
    with pytest.raises(Failure, match="diopiRelu"):
        library.call("diopiRelu")
    with pytest.raises(Failure, match="cannot take a value of the type dict"):
        library.call("diopiRelu", input={"data": left})
