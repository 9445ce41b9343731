"""Runs of the suite by commands: held-out cases, processes started ahead, progress."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import Field, asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import click

from diopigen.collection import no_collection
from diopigen.console import Session

if TYPE_CHECKING:
    from diopigen.chip.accuracy import Declaration
    from diopigen.conformance.model import Case, CaseResult, Results
    from diopigen.conformance.run.caller import Caller
    from diopigen.conformance.run.exceptions import Known
    from diopigen.conformance.run.execute import Calls
    from diopigen.conformance.run.execution import Execution
    from diopigen.conformance.run.processes import Processes
    from diopigen.conformance.run.runner import Fleet
    from diopigen.conformance.run.worker import Setup
    from diopigen.ir.model import Function, Interface

_Item = TypeVar("_Item")


class _FunctionResult(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def is_broken(self) -> bool:
        """Returns whether the process may be broken by the calls."""


_Result = TypeVar("_Result", bound=_FunctionResult)


def started_ahead() -> Processes:
    """Lets a worker read its modules while the spec is loaded here."""
    from diopigen.conformance.run.processes import Processes

    processes = Processes()
    processes.prepare()
    click.get_current_context().call_on_close(processes.dismiss)
    return processes


def select_held_out(
    session: Session, ops: tuple[str, ...], family: tuple[str, ...], dtype: tuple[str, ...], seed: int, count: int
) -> list[Case]:
    """Held-out calls of the functions that match, in an order that the seed decides."""
    from diopigen.conformance.cases.held_out import HeldOut
    from diopigen.conformance.cases.suite import matching

    interface = session.load().interface
    drawn = HeldOut(interface, seed)
    with no_collection():
        cases = [case for function in matching(interface, ops, family) for case in drawn.of(function, count)]
    found = [case for case in cases if not dtype or case.dtype in dtype]
    random.Random(seed).shuffle(found)
    return found


def with_smallest(
    session: Session,
    results: Results,
    libraries: tuple[Path, Path],
    limits: tuple[float, int],
    execution: Execution,
    accuracy: Sequence[Declaration],
) -> Results:
    """The results with the smallest calls that fail as held-out ones do, of a few functions."""
    from diopigen.conformance.cases.held_out import HeldOut
    from diopigen.conformance.run.runner import CaseRunner
    from diopigen.conformance.run.shrink import with_smallest_failures

    if not results.failures:
        return results
    interface = session.load().interface
    runner = CaseRunner(
        [result.case for result in results.failures], interface, *libraries, seed=results.seed,
        time_limit=limits[0], memory_limit=limits[1] << 30, accuracy=accuracy, execution=execution,
    )  # fmt: skip
    try:
        return with_smallest_failures(results, HeldOut(interface, results.seed), runner.check)
    finally:
        runner.close()


def known_exceptions(session: Session, file: str | None) -> tuple[Known, ...]:
    """The entries of the file; findings end the command with 1."""
    from diopigen.conformance.run.exceptions import read

    known = read(Path(file), file, session.sink) if file else ()
    if session.sink.has_errors:
        session.finish()
    return known


def waived(session: Session, cases: list[Case], known: Sequence[Known]) -> list[Case]:
    """The cases with the entries that match them; findings end the command with 1."""
    from diopigen.conformance.run.exceptions import with_waivers

    found = with_waivers(cases, known, session.load().interface, session.sink) if known else cases
    if session.sink.has_errors:
        session.finish()
    return found


def one_setup(
    session: Session,
    libraries: tuple[Path, Path],
    functions: Iterable[str],
    seed: int,
    limits: tuple[float, int],
    execution: Execution,
) -> Setup:
    """The settings of a process that calls some functions one after the other, for commands that have no workers."""
    from diopigen.conformance.run.runner import paths_of, slim
    from diopigen.conformance.run.worker import Setup

    interface = slim(session.load().interface, functions)
    return Setup(interface, *paths_of(*libraries, execution), seed, limits[0], limits[1] << 30, execution=execution)


def results_of(
    setup: Setup, functions: Sequence[Function], check: Callable[[Function, Calls], _Result], json_file: str | None
) -> tuple[list[_Result], bool]:
    """The results of functions, which are written to a file if it is named, and whether Ctrl-C ended the calls."""
    from diopigen.output.depfile import write_if_changed

    results, is_interrupted = until_interrupted(_one_by_one(setup, functions, check), len(functions), "functions")
    if json_file:
        text = json.dumps([asdict(one) for one in results], indent=1) + "\n"
        write_if_changed(Path(json_file), text.encode())
    return results, is_interrupted


def _one_by_one(
    setup: Setup, functions: Sequence[Function], check: Callable[[Function, Calls], _Result]
) -> Iterator[_Result]:
    """Yields the results of functions that one process calls in turn; after one that breaks it another process does."""
    from diopigen.conformance.run.worker import Bench

    bench = Bench(setup)
    try:
        for function in functions:
            result = check(function, bench.executor())
            if result.is_broken:
                bench.kill()
            yield result
    finally:
        bench.kill()


def run_with_progress(
    session: Session,
    cases: list[Case],
    libraries: tuple[Path, Path],
    seed: int,
    limits: tuple[float, int],
    execution: Execution,
    processes: Processes,
    jobs: int = 1,
    device: str = "",
    accuracy: Sequence[Declaration] = (),
    caller: Caller | None = None,
    fleet: Fleet | None = None,
    interface: Interface | None = None,
) -> Results:
    """Runs cases over a library and its runtime, with progress on standard error; `interface` is the session's unless
    it is another one."""
    from diopigen.conformance.run.runner import run as run_cases
    from diopigen.conformance.run.runner import weight

    with _Progress(sys.stderr.isatty(), sum(map(weight, cases))) as progress:
        return run_cases(
            cases,
            interface or session.load().interface,
            *libraries,
            jobs=jobs,
            seed=seed,
            time_limit=limits[0],
            memory_limit=limits[1] << 30,
            progress=progress.show,
            device=device,
            execution=execution,
            processes=processes,
            accuracy=accuracy,
            caller=caller,
            fleet=fleet,
        )


def until_interrupted(items: Iterable[_Item], total: int, noun: str) -> tuple[list[_Item], bool]:
    """The items until all are there or Ctrl-C comes, and whether it came. A line on standard error counts them: every
    ten seconds, or all the time on a terminal."""
    found: list[_Item] = []
    try:
        found.extend(_with_progress(items, total, noun))
    except KeyboardInterrupt:
        click.echo(f"\ninterrupted after {len(found)} of {total} {noun}", err=True)
        return found, True
    return found, False


def _with_progress(items: Iterable[_Item], total: int, noun: str) -> Iterator[_Item]:
    from diopigen.conformance.run.progress import Remaining, in_words

    terminal, last = sys.stderr.isatty(), time.monotonic()
    remaining = Remaining(total)
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        remaining.advance(1, now)
        if now - last >= (0.1 if terminal else 10):
            last = now
            line = f"{done} of {total} {noun}{in_words(remaining.seconds(now))}"
            click.echo(f"\r\033[K{line}" if terminal else line, err=True, nl=not terminal)
    if terminal:
        click.echo("\r\033[K", err=True, nl=False)


def packed_calls(session: Session, library: Path) -> Caller:
    """Calls through packed functions: the library of these nearest to the library under test, else one built from the
    sources that diopigen brings along."""
    from diopigen.conformance.run.locate import packed_library
    from diopigen.conformance.run.tvm_ffi_caller import PackedCaller
    from diopigen.conformance.run.tvm_ffi_library import require_installed, tvm_ffi_library

    require_installed()
    found = packed_library(library) or tvm_ffi_library(session.load().interface, session.workspace().templates)
    return PackedCaller(found)


class _Progress:
    """A line that counts, on a terminal; a line every ten seconds elsewhere, so that a log shows life."""

    def __init__(self, terminal: bool, weights: int) -> None:
        from diopigen.conformance.run.progress import Remaining

        self.terminal = terminal
        self.last = time.monotonic()
        self.failed = 0
        self.remaining = Remaining(weights)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.terminal:
            click.echo("\r\033[K", err=True, nl=False)

    def show(self, done: int, total: int, result: CaseResult) -> None:
        """Called after each case."""
        from diopigen.conformance.model import FAILURES
        from diopigen.conformance.run.progress import in_words
        from diopigen.conformance.run.runner import weight

        self.failed += result.outcome in FAILURES
        now = time.monotonic()
        self.remaining.advance(weight(result.case), now)
        if now - self.last < (0.1 if self.terminal else 10):
            return
        self.last = now
        line = f"{done} of {total} cases, {self.failed} failed{in_words(self.remaining.seconds(now))}"
        click.echo(f"\r\033[K{line}" if self.terminal else line, err=True, nl=not self.terminal)
