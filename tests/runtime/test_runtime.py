"""Runs the C++ tests of the host runtime, and looks at its libraries.

The generated headers are taken from generated/include, or from the folder that DIOPIGEN_INCLUDE_DIR names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from artefacts import artefact
from doctest_programs import case_command, case_names, passed

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RUNTIME = ROOT / "runtime"

PROGRAM = "runtime/runtime_tests"
PUBLIC_HEADERS = ("diopigen/device.h", "diopigen/host.h", "diopigen/host_device.h")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")

# What diopirt.h declares: a library may lack the weak ones.
STRONG = {
    "diopiGetStream",
    "diopiGetTensorData",
    "diopiGetTensorDataConst",
    "diopiGetTensorDtype",
    "diopiGetTensorNumel",
    "diopiGetTensorShape",
    "diopiGetTensorStride",
    "diopiRequireTensor",
}
WEAK = {
    "diopiGeneratorGetSeedAndOffset",
    "diopiGeneratorGetState",
    "diopiGeneratorSetSeedAndOffset",
    "diopiGeneratorSetState",
    "diopiGetCurrentDeviceIndex",
    "diopiGetTensorColIndices",
    "diopiGetTensorCrowIndices",
    "diopiGetTensorDevice",
    "diopiGetTensorDeviceIndex",
    "diopiGetTensorElemSize",
    "diopiGetTensorStorageNbytes",
    "diopiGetTensorStorageOffset",
    "diopiGetTensorStoragePtr",
    "diopiGetTensorValues",
    "diopiGetVersion",
    "diopiIsTensorSparse",
    "diopiRecordEnd",
    "diopiRecordStart",
    "diopiRequireBuffer",
}


def run(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command with both outputs in one text."""
    return subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )


def run_checked(command: Sequence[str | Path], **environment: str) -> str:
    """Runs a command that must succeed, and returns its output."""
    finished = run(command, **environment)
    assert finished.returncode == 0, f"{command}\n{finished.stdout}"
    return finished.stdout


@pytest.fixture(scope="session")
def include_flags() -> list[str]:
    """Include paths of the public headers and of the generated ones."""
    generated = Path(os.environ.get("DIOPIGEN_INCLUDE_DIR", ROOT / "generated" / "include"))
    if not (generated / "diopi" / "diopirt.h").is_file():
        pytest.fail(f"no diopi/diopirt.h in {generated}: run `diopigen generate`", pytrace=False)
    return [f"-I{RUNTIME / 'include'}", f"-I{generated}"]


def runtime_sources() -> list[Path]:
    return sorted((RUNTIME / "src").glob("*.cpp"))


def build_shared_runtime(include_flags: Sequence[str], output: Path) -> Path:
    """The one plain line that runtime/CMakeLists.txt promises."""
    version_script = f"-Wl,--version-script={RUNTIME / 'libdiopirt.map'}"
    flags = ["-O2", "-fPIC", "-shared", *include_flags, version_script]
    run_checked(["g++", "-std=c++17", *flags, *runtime_sources(), "-o", output])
    return output


@pytest.mark.parametrize("preset", ["plain", pytest.param("address", marks=pytest.mark.sanitize)])
@pytest.mark.parametrize("name", case_names(PROGRAM))
def test_a_case(name: str, preset: str) -> None:
    # Too large an allocation must come back as null, as it does without the sanitizer.
    options = "allocator_may_return_null=1:detect_leaks=1"
    printed = run_checked(case_command(artefact(PROGRAM, preset), name), ASAN_OPTIONS=options)
    assert passed(printed), printed


@pytest.mark.sanitize
@pytest.mark.slow
@pytest.mark.parametrize("name", case_names(PROGRAM, "--test-suite=threads"))
def test_threads_under_thread_sanitizer(name: str) -> None:
    # It needs a layout of memory that some kernels randomise away.
    printed = run_checked(["setarch", "-R", *case_command(artefact(PROGRAM, "thread"), name)])
    assert passed(printed), printed


@pytest.mark.parametrize("header", PUBLIC_HEADERS)
@pytest.mark.parametrize(
    ("compiler", "language", "standard"),
    [("gcc", "c", "c11"), ("gcc", "c", "c17"), ("g++", "c++", "c++11"), ("g++", "c++", "c++20")],
)
def test_public_headers_compile_alone(
    tmp_path: Path, include_flags: list[str], header: str, compiler: str, language: str, standard: str
) -> None:
    source = tmp_path / "include_one.txt"
    source.write_text(f"#include <{header}>\n#include <{header}>\n", encoding="utf-8")
    run_checked([compiler, f"-std={standard}", *WARNINGS, *include_flags, "-fsyntax-only", "-x", language, source])


def check_exports(library: Path) -> None:
    lines = run_checked(["nm", "--dynamic", "--defined-only", library]).splitlines()
    symbols = {line.split()[2]: line.split()[1] for line in lines}
    assert {name for name, kind in symbols.items() if kind == "W"} == WEAK
    assert {name for name in symbols if not name.startswith("diopi")} == set()
    ours = ("diopiHost", "diopiRegister", "diopigen")
    assert {name for name, kind in symbols.items() if kind == "T" and not name.startswith(ours)} == STRONG


def test_shared_library_shows_its_functions_and_nothing_else() -> None:
    check_exports(artefact("libdiopirt.so"))


@pytest.mark.slow
def test_the_plain_line_of_the_build_file_makes_the_same_library(tmp_path: Path, include_flags: list[str]) -> None:
    check_exports(build_shared_runtime(include_flags, tmp_path / "libdiopirt.so"))


def test_vendor_library_works_over_the_shared_runtime() -> None:
    libraries = artefact("libdiopirt.so"), artefact("runtime/libdiopi_impl.so")
    output = run_checked([sys.executable, HERE / "load_libraries.py", *libraries])
    assert output == "loaded and called\n"


def test_a_program_links_runtime_and_operators_statically() -> None:
    assert run_checked([artefact("runtime/runtime_consumer")]) == "0 1.1.0\n"


@pytest.mark.slow
def test_cmake_builds_both_libraries_and_a_static_consumer(tmp_path: Path, include_flags: list[str]) -> None:
    generated = include_flags[1].removeprefix("-I")
    run_checked(["cmake", "-S", HERE / "consumer", "-B", tmp_path, f"-DDIOPIGEN_INCLUDE_DIR={generated}"])
    run_checked(["cmake", "--build", tmp_path, "--parallel", "2"])
    assert (tmp_path / "runtime" / "libdiopirt.so").is_file()
    assert (tmp_path / "runtime" / "libdiopigen_runtime.a").is_file()
    assert (tmp_path / "runtime" / "libdiopigen_host_device.a").is_file()
    assert run_checked([tmp_path / "consumer"]) == "0 1.1.0\n"


def test_cmake_says_what_to_do_without_generated_headers(tmp_path: Path) -> None:
    finished = run(["cmake", "-S", RUNTIME, "-B", tmp_path / "build", f"-DDIOPIGEN_INCLUDE_DIR={tmp_path / 'absent'}"])
    assert finished.returncode != 0
    assert "Run `diopigen generate`, or set DIOPIGEN_INCLUDE_DIR." in " ".join(finished.stdout.split())
