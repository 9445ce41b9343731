"""Libraries that pass for something that they are not: without code of their own, or with answers for results."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tiny_cases import tiny_cases

from diopigen.conformance.report.results import text
from diopigen.conformance.run.execution import CRASH_LIMIT
from diopigen.conformance.run.executor import UNREQUESTED
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface

FORGING = r"""
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

const char* diopiGetVendorName(void) { return "forger"; }
const char* diopiGetImplVersion(void) { return "1"; }
const char* diopiGetLastErrorString(void) { return ""; }
int diopiRelu(void* ctx, void* out, const void* input) {
    const char lines[] = TEXT;
    for (int fd = 3; fd < 256; ++fd) {
        (void)!write(fd, lines, sizeof lines - 1);
    }
    return 0;
}
"""


def compiled(source: str, library: Path, *options: str) -> Path:
    path = library.with_suffix(".c")
    path.write_text(source)
    command = ["g++", "-x", "c", "-shared", "-fPIC", str(path), "-x", "none", "-o", str(library), *options]
    subprocess.run(command, check=True)
    return library


def test_functions_of_a_library_that_it_needs_are_not_its_own(
    interface: Interface, tiny_library: Path, runtime: Path, tmp_path: Path
) -> None:
    """A process finds them by the handle of the library all the same."""
    folder = tiny_library.resolve().parent
    options = ("-Wl,--no-as-needed", str(tiny_library.resolve()), f"-Wl,-rpath,{folder}")
    (tmp_path / "own").mkdir()
    empty = compiled("int nothing;\n", tmp_path / "own/libempty.so", *options)
    cases = [case for case in tiny_cases(interface, "Add") if case.axis == "plain"]
    results = run(cases, interface, empty, runtime, jobs=1)
    assert {result.outcome for result in results.results} == {"missing"}
    shown = text(results)
    assert "not tested, since only libraries that this one needs define them; name these with --lib: diopiAdd" in shown


@pytest.mark.parametrize(
    "line",
    [
        r'"{\"case\": 7, \"outcome\": \"passed\", \"seconds\": 0}\n"',
        r'"{\"case\": 0, \"outcome\": \"passed\"}\n"',
        r'"[]\n"',
        r'"nonsense\n"',
    ],
    ids=["of another case", "not whole", "no mapping", "no JSON"],
)
def test_an_unrequested_answer_ends_the_process(line: str, interface: Interface, runtime: Path, tmp_path: Path) -> None:
    forger = compiled(FORGING.replace("TEXT", line), tmp_path / "libforger.so")
    cases = [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"][:3]
    results = run(cases, interface, forger, runtime, jobs=1)
    assert [result.outcome for result in results.results] == ["crashed"] * 3
    assert {result.faults[0].message for result in results.results} == {UNREQUESTED}


def test_a_function_that_crashes_often_is_not_called_again(
    interface: Interface, tiny_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "crash")
    cases = [case for case in tiny_cases(interface, "Add") if "/device-" not in case.id][: 2 * CRASH_LIMIT]
    others = [case for case in tiny_cases(interface, "Relu") if case.axis == "plain"]
    results = run([*cases, *others], interface, tiny_library, runtime, jobs=1)
    crashed = [result for result in results.results if result.outcome == "crashed"]
    called = [result for result in crashed if "SIGABRT" in result.faults[0].message]
    assert len(called) == CRASH_LIMIT < len(cases) == len(crashed)
    left = {result.faults[0].message for result in crashed if result not in called}
    assert left == {f"not called: diopiAdd has crashed {CRASH_LIMIT} times"}
    assert [result.outcome for result in results.results[len(cases) :]] == ["passed"] * len(others)
