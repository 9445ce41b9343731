"""The interface of the spec, and two libraries built from source: the host runtime and a tiny kernel library."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from diopigen.api import plan, workspace
from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def interface() -> Interface:
    sink = Sink()
    return load_interface(ROOT / "specs", sink, "specs").interface


@pytest.fixture(scope="session")
def headers(interface: Interface, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with diopi/functions.h and its kin, emitted from the spec as it stands."""
    folder = tmp_path_factory.mktemp("headers")
    where = workspace(str(ROOT / "specs"), str(ROOT / "templates"))
    for file in plan(interface, where, Sink(), ["headers"]).files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
    return next(folder.rglob("functions.h")).parents[1]


def _compile(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


@pytest.fixture(scope="session")
def runtime(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libdiopirt.so."""
    target = tmp_path_factory.mktemp("runtime") / "libdiopirt.so"
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler, "the suite's own tests need a C++ compiler: install g++ or clang++"
    sources = [str(path) for path in sorted((ROOT / "runtime/src").glob("*.cpp"))]
    includes = [f"-I{ROOT / 'runtime/include'}", f"-I{headers}"]
    script = f"-Wl,--version-script={ROOT / 'runtime/libdiopirt.map'}"
    _compile([compiler, "-std=c++17", "-O1", "-fPIC", "-shared", *includes, *sources, script, "-o", str(target)])
    return target


@pytest.fixture(scope="session")
def tiny_library(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of tiny_library.c."""
    target = tmp_path_factory.mktemp("tiny") / "libdiopi_impl.so"
    compiler = shutil.which("gcc") or shutil.which("clang")
    assert compiler, "the suite's own tests need a C compiler: install gcc or clang"
    includes = [f"-I{ROOT / 'runtime/include'}", f"-I{headers}"]
    source = str(Path(__file__).with_name("tiny_library.c"))
    _compile([compiler, "-std=gnu11", "-O1", "-Wall", "-fPIC", "-shared", *includes, source, "-lm", "-o", str(target)])
    return target
