"""examples/quartz: an asynchronous chip on the kernel library; what a person wrote, and what the suite says."""

from __future__ import annotations

import difflib
import json
import subprocess
from pathlib import Path
from typing import Any

from artefacts import artefact
from programs import SUITE
from quartz_tree import EXAMPLE, ROOT, scaffolded

from diopigen.chip.reader import read_chip
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface


def test_the_page_counts_the_lines_by_hand(tmp_path: Path) -> None:
    """Those of new files, and those that differ in files that the scaffold started."""
    scaffolded(tmp_path / "quartz")
    count = 0
    for path in (EXAMPLE / "impl/quartz").iterdir():
        start = tmp_path / "quartz/impl/quartz" / path.name
        before = start.read_text().splitlines() if start.exists() else []
        changes = difflib.ndiff(before, path.read_text().splitlines())
        count += sum(line.startswith("+ ") and line[2:].strip() != "" for line in changes)
    assert f"{count} lines by hand" in (EXAMPLE / "README.md").read_text()
    assert not list((EXAMPLE / "impl").rglob("functions*")), "no kernel"


def test_every_native_operator_passes_its_cases(interface: Interface, tmp_path: Path) -> None:
    chip = read_chip(EXAMPLE / "quartz.yaml", "quartz.yaml", interface, Sink())
    assert chip is not None
    native = {operator.name for operator in chip.operators}
    file = tmp_path / "results.json"
    tree = artefact("build/tests/quartz/written/quartz/impl/quartz")
    libraries = ["--lib", artefact("quartz/libdiopi_impl.so"), "--runtime", artefact("libdiopirt.so"), "--impl", tree]
    words = [*libraries, *(word for name in sorted(native) for word in ("--ops", name)), "--json", file]
    done = subprocess.run([*SUITE, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    assert {case["outcome"] for case in report["cases"]} == {"passed", "unimplemented"}
    assert {case["function"] for case in report["cases"] if case["outcome"] == "passed"} == native


FAILING = """
#include <quartz/stream.h>
#include <cstdio>
#include <stdexcept>

using impl::quartz::Stream;
using diopigen::kernels::Code;

int main() {
    int ran = 0;
    Stream stream;
    for (int i = 0; i < 3; ++i) {
        stream.add([&ran, i] {
            ran = ran * 10 + i + 1;
            return i == 1 ? Stream::Status(Code::kernelFailed, "second") : Stream::Status();
        });
    }
    const Stream::Status first = stream.wait(), then = stream.wait();
    std::printf("%d %s %d\\n", ran, first.text().c_str(), then.ok());
}
"""


def test_a_stream_keeps_order_and_reports_a_failure_once(tmp_path: Path) -> None:
    source = tmp_path / "main.cpp"
    source.write_text(FAILING)
    includes = ["generated/include", "runtime/kernels/include", "examples/quartz/impl"]
    program = tmp_path / "main"
    words = ["g++", "-std=c++17", "-pthread", *(f"-I{ROOT / name}" for name in includes), source]
    subprocess.run([*map(str, words), str(EXAMPLE / "impl/quartz/stream.cpp"), "-o", str(program)], check=True)
    assert subprocess.run([str(program)], capture_output=True, text=True).stdout == "123 second 1\n"
