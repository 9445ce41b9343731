"""Worker processes that are started ahead of time: given out, or ended without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from diopigen.conformance.cases.suite import select
from diopigen.conformance.run.execution import Execution
from diopigen.conformance.run.processes import Processes
from diopigen.conformance.run.runner import run
from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface


@pytest.fixture
def processes() -> Iterator[Processes]:
    created = Processes()
    yield created
    created.dismiss()


def test_the_prepared_process_is_the_next_one(processes: Processes) -> None:
    processes.prepare()
    first, _ = prepared = processes._spare[0]
    assert processes.take() == prepared
    second, errors = processes.take()
    assert second.pid != first.pid
    for process in (first, second):
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait() == 0  # without a setup there is nothing to do
    errors.seek(0)
    assert errors.read() == b""


def test_what_is_not_taken_is_ended(processes: Processes) -> None:
    processes.prepare()
    process, _ = processes._spare[0]
    processes.dismiss()
    assert process.poll() is not None
    processes.dismiss()


def test_a_launcher_starts_the_processes(
    interface: Interface, tiny_library: Path, runtime: Path, tmp_path: Path, processes: Processes
) -> None:
    """It gets the path of the executor as its last argument."""
    script = tmp_path / "launch"
    script.write_text(f'#!/bin/sh\necho "$1 ${{2##*/}}" >>{tmp_path}/started\nshift\nexec "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    cases = select(interface, ops=["Add"], axes=["plain"])
    results = run(
        cases,
        interface,
        tiny_library,
        runtime,
        execution=Execution(launcher=(str(script), "fast")),
        processes=processes,
    )
    assert results.counts == run(cases, interface, tiny_library, runtime).counts
    assert (tmp_path / "started").read_text(encoding="utf-8") == "fast diopi-executor\n"


def test_a_launcher_that_is_not_there_is_named(interface: Interface, tiny_library: Path, runtime: Path) -> None:
    cases = select(interface, ops=["Add"], axes=["plain"])
    with pytest.raises(Failure) as caught:
        run(cases, interface, tiny_library, runtime, execution=Execution(launcher=("qemu-missing",)))
    assert caught.value.diagnostics[0].code == "launcher-missing"
    assert str(caught.value).startswith("the command 'qemu-missing' cannot be started: No such file or directory")


def test_cases_run_in_a_prepared_process(
    interface: Interface, tiny_library: Path, runtime: Path, processes: Processes
) -> None:
    processes.prepare()
    cases = select(interface, ops=["Add"], axes=["plain"])
    results = run(cases, interface, tiny_library, runtime, processes=processes)
    assert len(results.results) == len(cases) and processes._spare == []
