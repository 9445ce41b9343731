"""Variables of the environment: `specs/environment.yaml` declares each that the sources read, and no other."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("diopi_torch/src", "runtime", "impl")
PRODUCT = (*LIBRARIES, "diopigen", "diopi_ffi", "optools/src", "lab", "tools", "cmake", "templates")
ENDINGS = {".py", ".cpp", ".h", ".cu", ".cuh", ".cmake", ".txt", ".sh", ".j2"}
READ = re.compile(
    r"""getenv\(\s*"([A-Z][A-Z_]+)"|get_env\("([A-Z][A-Z_]+)"|os\.environ(?:\.get\(|\[)\s*"([A-Z][A-Z_]+)"
      |"([A-Z][A-Z_]+)"\s(?:not\s)?in\sos\.environ|\$ENV\{([A-Z][A-Z_]+)\}|environment::\w+\("([A-Z][A-Z_]+)""",
    re.VERBOSE,
)
QUOTED = re.compile(r'"((?:DIOPI|DIOPIGEN|DIPU|OPTOOLS)(?:_[A-Z_]+)?)"')
"""Names with our prefixes: they are handed to functions that read them."""
VENDORS = re.compile(r'os\.environ\.get\(f"TORCH_\{[^}]+\}_LIBRARIES"\)')
LISTS = re.compile(r'LISTS = "(OP_[A-Z_]+)"')
"""Names of which optools makes two."""
OWN = re.compile(r"(DIOPI|DIOPIGEN|OPTOOLS)(_|$)")
SEARCH_PATHS = {"PATH", "PYTHONPATH", "TMPDIR"}
MACROS = {"DIOPI_VERSION"}


@cache
def sources(folders: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of all sources below folders."""
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    return tuple(path.read_text(encoding="utf-8") for path in found if path.suffix in ENDINGS and path.is_file())


def names_read(text: str) -> Iterator[str]:
    """The variables that a source reads by name."""
    for match in READ.finditer(text):
        yield next(filter(None, match.groups()))
    for name in LISTS.findall(text):
        yield from (f"{name}_LIST", f"{name}_DISABLE_LIST")
    if VENDORS.search(text):
        yield "TORCH_<VENDOR>_LIBRARIES"


@pytest.fixture(scope="module")
def declared(interface: Interface) -> list[str]:
    variables = [one for part in interface.environment for one in part.variables]
    return [name for one in variables for name in (one.name, *one.aliases)]


def test_a_name_is_declared_once(declared: list[str]) -> None:
    assert len(declared) == len(set(declared)) > 80


def test_what_is_read_is_declared(declared: list[str]) -> None:
    read = {name for text in sources(PRODUCT) for name in names_read(text)} - SEARCH_PATHS
    read |= {name for text in sources(LIBRARIES) for name in QUOTED.findall(text)} - MACROS
    read |= {name for text in sources(("tests",)) for name in names_read(text) if OWN.match(name)}
    assert read - set(declared) == set()


def test_what_is_declared_is_read(interface: Interface) -> None:
    read = {name for text in sources((*PRODUCT, "tests")) for name in (*names_read(text), *QUOTED.findall(text))}
    declared = {one.name for part in interface.environment for one in part.variables}
    assert declared - read == set()


def test_a_value_has_the_form_that_its_kind_asks_for(interface: Interface) -> None:
    """Values for choices and lists alone, limits for numbers, a default that is one of the values."""
    for part in interface.environment:
        for one in part.variables:
            assert bool(one.values) == (one.kind in ("flag", "choice", "list")), one.name
            assert (len(one.range) == 2) == (one.kind == "number"), one.name
            assert not one.values or not one.default or one.default in one.values, one.name


PROGRAM = """
#include <diopigen/environment.h>
int main(int, char** names) {
    for (++names; *names != nullptr; ++names) {
        const std::string fault = diopigen::environment::fault(*names);
        const std::string value = diopigen::environment::checked(*names);
        std::printf("%s|%s\\n", fault.c_str(), value.c_str());
    }
}
"""
"""Every library reads its variables with these functions."""


@pytest.mark.parametrize(
    ("name", "value", "possible"),
    [
        ("DIOPI_FALLBACK", "maybe", "off, warn or log"),
        ("DIOPI_TIMING", "yes", "0 or 1"),
        ("DIOPI_CUDA_CHECKS", "later", "now"),
        ("DIOPI_COMPILE_LOG", "plan,all", "fusion, layout, pattern, plan or source"),
        ("DIOPI_NUM_THREADS", "0", "a number from 1 to 1024"),
        ("DIOPI_NUM_THREADS", "1025", "a number from 1 to 1024"),
        ("DIOPI_NUM_THREADS", "4x", "a number from 1 to 1024"),
        ("DIOPI_SIM_DEVICES", "99999999999999999999999", "a number from 1 to 16"),
        ("DIOPI_FALLBACK", "log", ""),
        ("DIOPI_COMPILE_LOG", "plan,source", ""),
        ("DIOPI_NUM_THREADS", "1024", ""),
        ("DIOPI_LOG", "anything", ""),
    ],
)
def test_a_value_that_is_not_possible_is_told(program: Path, name: str, value: str, possible: str) -> None:
    done = subprocess.run([program, name], env={name: value}, capture_output=True, text=True, check=True)
    fault = f"{name} is '{value}': {possible} is possible" if possible else ""
    assert done.stdout == f"{fault}|{'' if fault else value}\n"
    assert done.stderr == (f"diopi: {fault}; the variable is ignored\n" if fault else "")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    (folder / "program.cpp").write_text(PROGRAM, encoding="utf-8")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "generated/include")]
    subprocess.run(["g++", *flags, str(folder / "program.cpp"), "-o", str(folder / "program")], check=True)
    return folder / "program"
