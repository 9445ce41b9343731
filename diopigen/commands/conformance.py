"""Commands on conformance: list the cases, run them on a library, run one case again."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from diopigen.console import Session

if TYPE_CHECKING:
    from diopigen.conformance.model import Case, CaseResult, Results

_Command = TypeVar("_Command", bound=Callable[..., Any])
RUNTIME_NAME = "libdiopirt.so"

RULES = {
    "runtime-missing": "The host runtime lies beside the library under test, or is named.",
}


def _spec_option(command: _Command) -> _Command:
    help_text = "Folder of the spec (default: ./specs, else the built-in one)."
    return click.option("--spec", metavar="DIR", help=help_text)(command)


def selection_options(command: _Command) -> _Command:
    """The options that choose cases."""
    options = (
        click.option("--ops", multiple=True, metavar="GLOB", help="Functions: diopiAdd, 'Conv*' (may be repeated)."),
        click.option("--family", multiple=True, metavar="F", help="A family (may be repeated)."),
        click.option("--dtype", multiple=True, metavar="D", help="A dtype (may be repeated)."),
        click.option("--axis", multiple=True, metavar="A", help="An axis, such as recipe or error (may be repeated)."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def library_options(command: _Command) -> _Command:
    """The options that name what is judged and how."""
    options = (
        click.option("--lib", required=True, metavar="PATH", help="The library under test, libdiopi_impl.so."),
        click.option("--runtime", metavar="PATH", help=f"{RUNTIME_NAME} (default: sought beside the library)."),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the drawn values."),
        click.option("--time-limit", default=20.0, show_default=True, help="Seconds that a case may take."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def conformance() -> None:
    """Judge a kernel library through the C interface, by cases that follow from the spec."""


@conformance.command("list")
@selection_options
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", help="Form.")
@_spec_option
def list_cases(
    ops: tuple[str, ...],
    family: tuple[str, ...],
    dtype: tuple[str, ...],
    axis: tuple[str, ...],
    output_format: str,
    spec: str | None,
) -> None:
    """List the cases."""
    from diopigen.conformance.report import case_record

    cases = _select(Session(spec, None, "text", False), ops, family, dtype, axis)
    if output_format == "json":
        click.echo(json.dumps([case_record(case) for case in cases], indent=1))
        return
    for case in cases:
        click.echo(case.id)


@conformance.command()
@library_options
@selection_options
@click.option("-j", "--jobs", type=click.IntRange(1), help="Worker processes (default: the number of processors).")
@click.option("--by", type=click.Choice(("family", "function", "dtype", "axis")), default="family", help="Table rows.")
@click.option("--failures", type=click.IntRange(0), default=20, show_default=True, help="Failures shown in full.")
@click.option("--json", "json_file", metavar="FILE", help="Write all results as JSON.")
@click.option("--junit", "junit_file", metavar="FILE", help="Write all results as JUnit XML.")
@_spec_option
def run(
    lib: str,
    runtime: str | None,
    seed: int,
    time_limit: float,
    ops: tuple[str, ...],
    family: tuple[str, ...],
    dtype: tuple[str, ...],
    axis: tuple[str, ...],
    jobs: int | None,
    by: str,
    failures: int,
    json_file: str | None,
    junit_file: str | None,
    spec: str | None,
) -> None:
    """Run cases and print what came of them, function by function or family by family."""
    from diopigen.conformance.report import text, to_json, to_junit

    session = Session(spec, None, "text", False)
    cases = _select(session, ops, family, dtype, axis)
    results = _run(session, cases, lib, runtime, seed, time_limit, jobs or os.cpu_count() or 1)
    for file, content in ((json_file, to_json), (junit_file, to_junit)):
        if file:
            _write(Path(file), content(results))
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    click.echo(text(results, colour=colour, failures=failures, by=by), nl=False)
    sys.exit(1 if results.failures else 0)


@conformance.command()
@click.argument("case_id", metavar="CASE")
@library_options
@_spec_option
def repro(case_id: str, lib: str, runtime: str | None, seed: int, time_limit: float, spec: str | None) -> None:
    """Run one case alone and print its operands, what was expected and what came."""
    from diopigen.conformance.cases import find
    from diopigen.conformance.report import failure_text

    session = Session(spec, None, "text", False)
    case = find(session.load().interface, case_id)
    results = _run(session, [case], lib, runtime, seed, time_limit, 1)
    click.echo(failure_text(results.results[0], results))
    sys.exit(1 if results.failures else 0)


def _select(
    session: Session, ops: tuple[str, ...], family: tuple[str, ...], dtype: tuple[str, ...], axis: tuple[str, ...]
) -> list[Case]:
    from diopigen.conformance.cases import select

    return select(session.load().interface, ops=ops, families=family, dtypes=dtype, axes=axis)


def _run(
    session: Session, cases: list[Case], lib: str, runtime: str | None, seed: int, time_limit: float, jobs: int
) -> Results:
    from diopigen.conformance.runner import run as run_cases

    library = Path(lib)
    with _Progress(sys.stderr.isatty()) as progress:
        return run_cases(
            cases,
            session.load().interface,
            library,
            Path(runtime) if runtime else _runtime_beside(library),
            jobs=jobs,
            seed=seed,
            time_limit=time_limit,
            progress=progress.show,
        )


def _runtime_beside(library: Path) -> Path:
    """The host runtime in the folder of the library or below it. Raises `Failure` where there is none."""
    from diopigen.diagnostics import Span, failure

    folder = library.parent
    found = sorted(folder.rglob(RUNTIME_NAME), key=lambda path: len(path.parts))
    if found:
        return found[0]
    fix = "build runtime/ and name it with --runtime"
    raise failure("runtime-missing", f"there is no {RUNTIME_NAME} beside the library", Span(str(folder)), fix)


def _write(path: Path, content: str) -> None:
    from diopigen.output.depfile import write_if_changed

    write_if_changed(path, content.encode())


class _Progress:
    """A line that counts, on a terminal; a line every ten seconds elsewhere, so that a log shows life."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal
        self.started = self.last = time.monotonic()
        self.failed = 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.terminal:
            click.echo("\r\033[K", err=True, nl=False)

    def show(self, done: int, total: int, result: CaseResult) -> None:
        """Called after each case."""
        from diopigen.conformance.model import FAILURES

        self.failed += result.outcome in FAILURES
        now = time.monotonic()
        if now - self.last < (0.1 if self.terminal else 10):
            return
        self.last = now
        left = (now - self.started) / done * (total - done)
        line = f"{done} of {total} cases, {self.failed} failed, about {left:.0f} s left"
        click.echo(f"\r\033[K{line}" if self.terminal else line, err=True, nl=not self.terminal)
