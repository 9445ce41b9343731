"""DIOPI_CPU_CAPABILITY limits the clones that the loader picks, whenever and however the library is loaded."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from cpu_build import run_checked
from programs import program

LEVELS = ("baseline", "avx2", "avx512")
CLONES = {"baseline": "default", "avx2": "arch_x86_64_v3", "avx512": "arch_x86_64_v4"}
VARIABLE = "DIOPI_CPU_CAPABILITY"
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are of x86-64")
LOAD = """
import ctypes, os, sys
os.environ.update(word.split("=") for word in sys.argv[2:])
library = ctypes.CDLL(sys.argv[1])
library.level.restype = ctypes.c_char_p
library.selected.restype = ctypes.c_size_t
print(library.level().decode(), f"{library.selected():x}")
library.report()
library.report()
"""


@pytest.fixture(scope="module", params=["lazy", "now"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The probe, its functions bound when they are first called or at once."""
    return built(tmp_path_factory.mktemp("capability"), f"-DBINDING={request.param}")


def built(output: Path, *options: str) -> Path:
    source = Path(__file__).parent / "capability"
    run_checked(
        ["cmake", "-S", source, "-B", output, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER=g++", *options]
    )
    run_checked(["cmake", "--build", output])
    return output


def clone_at(library: Path, address: str) -> str:
    """The level whose clone of the function is at an address."""
    table = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    addresses = {line.split()[2]: int(line.split()[0], 16) for line in table.splitlines() if " t cloned." in line}
    return next(level for level, name in CLONES.items() if addresses[f"cloned.{name}"] == int(address, 16))


def ran(command: Sequence[str | Path], variables: Mapping[str, str]) -> tuple[str, str, str]:
    """The level that the library says, the address that is bound, and what is printed to standard error."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | dict(variables)
    finished = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env=environment, check=True
    )
    level, address = finished.stdout.split()
    return level, address, "\n".join(line for line in finished.stderr.splitlines() if "diopi_cpu" in line)


def loads(folder: Path, value: str | None) -> list[tuple[str, str, str]]:
    """The same of a program linked with the library, of a host that loads it, and of one that sets the variable
    itself before it does."""
    library = folder / "libdiopi_impl.so"
    provided = {} if value is None else {VARIABLE: value}
    words = [f"{name}={text}" for name, text in provided.items()]
    return [
        ran([folder / "program"], provided),
        ran([folder / "program"], provided | {"LD_BIND_NOW": "1"}),
        ran([sys.executable, "-c", LOAD, library], provided),
        ran([sys.executable, "-c", LOAD, library, *words], {}),
    ]


def test_a_level_that_the_machine_has_is_taken(folder: Path) -> None:
    best = loads(folder, None)[0][0]
    for expected in LEVELS[: LEVELS.index(best) + 1]:
        for level, address, printed in loads(folder, expected):
            assert (level, clone_at(folder / "libdiopi_impl.so", address), printed) == (expected, expected, "")


def test_without_a_value_the_best_level_is_taken(folder: Path) -> None:
    for value in (None, ""):
        for level, address, printed in loads(folder, value):
            assert (clone_at(folder / "libdiopi_impl.so", address), printed) == (level, "")


@pytest.mark.parametrize("value", ["AVX2", "avx", "avx5", "avx5122", "a" * 200])
def test_another_word_is_reported_once(folder: Path, value: str) -> None:
    best = loads(folder, None)[0][0]
    expected = f"diopi_cpu: {VARIABLE} is '{value[:31]}', not baseline, avx2 or avx512; using {best}"
    for level, address, printed in loads(folder, value):
        assert (level, clone_at(folder / "libdiopi_impl.so", address), printed) == (best, best, expected)


@pytest.mark.parametrize(("model", "best"), [("Nehalem", "baseline"), ("Haswell", "avx2"), ("EPYC", "avx2")])
def test_a_level_that_the_processor_lacks_is_reported_once(folder: Path, model: str, best: str) -> None:
    emulator = program("qemu-x86_64", "qemu-user")
    level, address, printed = ran([emulator, "-cpu", model, folder / "program"], {VARIABLE: "avx512"})
    assert (level, clone_at(folder / "libdiopi_impl.so", address)) == (best, best)
    assert printed == f"diopi_cpu: {VARIABLE}=avx512 is not available on this processor; using {best}"


def test_a_build_for_one_instruction_set_says_so(tmp_path: Path) -> None:
    folder = built(tmp_path, "-DBINDING=lazy", "-DONE_ARCH=ON")
    assert {load[::2] for load in loads(folder, None) + loads(folder, "baseline")} == {("baseline", "")}
    expected = (
        f"diopi_cpu: {VARIABLE}=avx2 is not available in this build, which has one instruction set; using baseline"
    )
    assert {load[::2] for load in loads(folder, "avx2")} == {("baseline", expected)}
