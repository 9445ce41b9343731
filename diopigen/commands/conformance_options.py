"""Options that commands on conformance share, and how those that run one fault or variant after another report."""

from __future__ import annotations

import functools
import os
import secrets
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from diopigen.commands import completion
from diopigen.commands.grouped import group

if TYPE_CHECKING:
    from diopigen.conformance.model import Case, Results
    from diopigen.console import Session

_FEW = 20
"""Functions whose calls of models are derived without those of all others."""
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _seed(_context: click.Context, _param: click.Parameter, value: str) -> int:
    """A whole number; for `random` one that is not known before the run."""
    if value == "random":
        return secrets.randbits(48)
    if not value.isdecimal():
        raise click.BadParameter(f"'{value}' is neither a whole number nor 'random'")
    return int(value)


def libraries_of(session: Session, lib: str, runtime: str | None) -> tuple[Path, Path]:
    """The library under test and the host runtime: the one that is named, else the one nearest to the library, else one
    built from the sources that diopigen brings along. Raises `Failure`."""
    from diopigen.conformance.run.locate import library_and_runtime

    def built() -> Path:
        from diopigen.conformance.run.host_runtime import host_runtime

        return host_runtime(session.load().interface, session.workspace().templates)

    return library_and_runtime(lib, runtime, built)


def with_options(command: _Command, *options: Callable[[_Command], _Command]) -> _Command:
    """The command with options, which its help shows in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def as_one(name: str, kind: Callable[..., Any]) -> Callable[[_Command], _Command]:
    """Passes the options that are fields of a dataclass to the command as one argument."""

    def add(command: _Command) -> _Command:
        @functools.wraps(command)
        def called(*args: Any, **named: Any) -> Any:
            own = {one.name: named.pop(one.name) for one in fields(cast(Any, kind)) if one.name in named}
            return command(*args, **{name: kind(**own)}, **named)

        return cast(_Command, called)

    return add


@dataclass(frozen=True)
class Selection:
    """The options that select cases."""

    ops: tuple[str, ...]
    family: tuple[str, ...]
    dtype: tuple[str, ...]
    axis: tuple[str, ...]
    model: tuple[str, ...]

    def cases(self, session: Session) -> list[Case]:
        """The selected cases."""
        from diopigen.conformance.cases.stored import StoredCases
        from diopigen.conformance.cases.suite import matching, select

        interface = session.load().interface
        functions = [function.name for function in matching(interface, self.ops, self.family)]
        return select(
            interface, ops=self.ops, families=self.family, dtypes=self.dtype, axes=self.axis, models=self.model,
            tables=session.models() if self.model else (),
            small=None if self.model else session.small_calls(functions if len(functions) <= _FEW else None),
            derived=StoredCases(interface, session.interface_key, is_whole=session.has_all_functions).of,
        )  # fmt: skip


@dataclass(frozen=True)
class Tested:
    """The options that name the library under test, and the limits of a call."""

    lib: str
    runtime: str | None
    seed: int
    time_limit: float
    memory_limit: int

    def libraries(self, session: Session) -> tuple[Path, Path]:
        """The library and the host runtime. Raises `Failure`."""
        return libraries_of(session, self.lib, self.runtime)

    @property
    def limits(self) -> tuple[float, int]:
        """Seconds of a call, and GiB of a process."""
        return self.time_limit, self.memory_limit


@dataclass(frozen=True)
class Report:
    """The options that show results and write them to files."""

    by: str
    failures: int
    accuracy: bool
    json_file: str | None
    junit_file: str | None
    html_file: str | None
    sign_key: str | None = None

    def write(self, session: Session, results: Results) -> None:
        """Writes results in the forms that have a file, and signs the JSON."""
        from diopigen.conformance.report.results import to_json, to_junit
        from diopigen.output.depfile import write_if_changed

        if self.json_file:
            write_if_changed(Path(self.json_file), to_json(results).encode())
        if self.junit_file:
            write_if_changed(Path(self.junit_file), to_junit(results).encode())
        if self.html_file:
            from diopigen.conformance.report.html import to_html

            page = to_html(results, session.load().interface, session.workspace().templates)
            write_if_changed(Path(self.html_file), page.encode())
        if self.sign_key and self.json_file:
            from diopigen.conformance.run.provenance import sign

            sign(Path(self.json_file), Path(self.sign_key))

    def show(self, results: Results) -> None:
        """Prints results as text, in colour on a terminal."""
        from diopigen.conformance.report.results import text

        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        click.echo(text(results, colour=colour, failures=self.failures, by=self.by, accuracy=self.accuracy), nl=False)


def ops_option(command: _Command) -> _Command:
    """The option that chooses functions."""
    what = "Functions: diopiAdd, 'Conv*'"
    return completion.names_option("--ops", metavar="GLOB", what=what, complete=completion.functions)(command)


def family_option(command: _Command) -> _Command:
    """The option that chooses families."""
    return completion.names_option("--family", metavar="F", what="A family", complete=completion.families)(command)


def _names_option(name: str, complete: completion.Complete) -> Callable[[_Command], _Command]:
    return click.option(name, multiple=True, shell_complete=complete, hidden=True)


_SELECTED: Mapping[str, Callable[..., Any]] = {
    "family": _names_option("--family", completion.families),
    "dtype": _names_option("--dtype", completion.dtypes),
    "axis": _names_option("--axis", completion.axes),
    "model": _names_option("--model", completion.models),
    "failures": click.option("--only-failures", "failures_file", metavar="FILE", hidden=True),
    "sample": click.option("--sample", type=click.IntRange(1), metavar="N", hidden=True),
}
_OPTIONS = {"failures": "--only-failures"}


def selection_options(*more: str) -> Callable[[_Command], _Command]:
    """The options that choose cases, by `failures` and `sample` too where they are named."""
    names = ("family", "dtype", "axis", "model", *more)
    about = (
        "Cases alone of family=F, dtype=D, axis=A (recipe, error, ...; axis=exhaustive: all numbers of 16-bit dtypes, "
        "in no other run), or the calls of model=M"
    )
    if "failures" in more:
        about += ", or those that count against the library in earlier results, failures=FILE"
    if "sample" in more:
        about += "; sample=N: at most N of each function"
    keys = {name: _OPTIONS.get(name, f"--{name}") for name in names}
    return lambda command: with_options(
        as_one("selection", Selection)(command),
        ops_option,
        group("--only", about, keys),
        *(_SELECTED[name] for name in names),
    )


def shard_options(command: _Command) -> _Command:
    """The options that choose a part of the cases."""
    shard = (
        "I/N: only the I-th of N parts of the cases, for N machines (`report merge` joins the results). costs=FILE: "
        "earlier results, or a history, by which parts take equally long"
    )
    return with_options(
        command,
        group("--shard", shard, {"costs": "--costs"}, other="--part", metavar="I/N"),
        click.option("--part", "shard", metavar="I/N", hidden=True),
        click.option("--costs", "costs_file", metavar="FILE", hidden=True),
    )


def report_options(command: _Command, *, signed: bool = False) -> _Command:
    """The options that say how results are shown and where they are written."""
    rows = ("family", "function", "dtype", "axis")
    show = "Rows of the table: family, function, dtype or axis; accuracy: errors in ULP; failures=N: failures in full"
    words = {**{row: ("--by", row) for row in rows}, "accuracy": ("--accuracy",)}
    output = "Write all results: json=FILE, junit=FILE (JUnit XML), html=FILE (a page, made to be read)"
    forms = {form: f"--{form}" for form in ("json", "junit", "html")}
    if signed:
        output += "; sign=KEY: sign the JSON with this private key of SSH, as FILE.sig"
        forms["sign"] = "--sign"
    return with_options(
        as_one("report", Report)(command),
        group("--show", show, {"failures": "--failures"}, words, metavar="WHAT"),
        group("--output", output, forms, metavar="FORM=FILE"),
        click.option("--by", type=click.Choice(rows), default="family", hidden=True),
        click.option("--failures", type=click.IntRange(0), default=20, hidden=True),
        click.option("--accuracy", is_flag=True, hidden=True),
        click.option("--json", "json_file", metavar="FILE", hidden=True),
        click.option("--junit", "junit_file", metavar="FILE", hidden=True),
        click.option("--html", "html_file", metavar="FILE", hidden=True),
        *([click.option("--sign", "sign_key", metavar="KEY", hidden=True)] if signed else ()),
    )


seed_option = click.option(
    "--seed",
    callback=_seed,
    default="0",
    metavar="N",
    show_default=True,
    help="Seed of the drawn values; random: one that is drawn now and named at the end.",
)


def unknown_seed(seed: int) -> int:
    """A seed that is not known before the run, unless --seed sets it."""
    source = click.get_current_context().get_parameter_source("seed")
    return secrets.randbits(48) if source is ParameterSource.DEFAULT else seed


_crash_limit = click.option("--crash-limit", type=click.IntRange(1), default=20, hidden=True)


def named_options(command: _Command) -> _Command:
    """The options that name what is tested, and the seed."""
    return with_options(
        command,
        click.option("--lib", required=True, metavar="PATH", help="The library under test, libdiopi_impl.so."),
        click.option(
            "--runtime", metavar="PATH", help="libdiopirt.so (default: from the library's folder, else built)."
        ),
        seed_option,
    )


def tested_options(command: _Command) -> _Command:
    """The options that name what is tested, the seed and the time of each case."""
    limit = click.option("--time-limit", default=20.0, show_default=True, help="Seconds that a case may take.")
    return with_options(command, named_options, limit)


def limit_options(command: _Command, memory: int = 8, time: float | None = 20.0, about: str = "20") -> _Command:
    """The options that say what a call may take; `memory` is the number of GiB by default, `time` that of seconds,
    which `about` tells."""
    limit = (
        f"time=SECONDS that a call may take ({about}), memory=GIB that a process may take ({memory}; 0 for none, which "
        "libraries built with sanitizers need), crashes=N of a function after which it is not called any more (20)"
    )
    return with_options(
        command,
        group("--limit", limit, {"time": "--time-limit", "memory": "--memory-limit", "crashes": "--crash-limit"}),
        click.option("--time-limit", type=float, default=time, hidden=True),
        click.option("--memory-limit", type=click.IntRange(0), default=memory, hidden=True),
        _crash_limit,
    )


def library_options(command: _Command) -> _Command:
    """The options that name what is tested and how."""
    return with_options(as_one("tested", Tested)(command), named_options, limit_options, executor_options)


def _words(option: str, text: str | None) -> tuple[str, ...]:
    """The words of a command, as a shell reads them."""
    try:
        return tuple(shlex.split(text or ""))
    except ValueError as error:
        raise click.UsageError(f"{option} '{text}': {error}") from None


def executor_options(command: _Command) -> _Command:
    """The options that say where the library is called, which the command gets together as `execution`."""
    about = (
        "Call the library through this command, which speaks the protocol of docs/executor.md: 'ssh board "
        "./diopi-executor'. launcher=COMMAND: start diopi-executor by this command ('qemu-x86_64 -cpu Haswell'). "
        "writable=PATH: the library may write there. allow=programs, network or home: it may start programs, connect "
        "to services, read the user's files. unconfined: no limit but memory"
    )
    keys = {"launcher": "--launcher", "writable": "--writable", "allow": "--allow"}
    words = {"unconfined": ("--unconfined",)}

    @functools.wraps(command)
    def bundled(
        *args: Any,
        executor: str | None,
        launcher: str | None,
        writable: tuple[str, ...],
        unconfined: bool,
        allowed: tuple[str, ...],
        crash_limit: int = 20,
        **named: Any,
    ) -> None:
        from diopigen.conformance.run.execution import Execution

        commands = _words("--executor", executor), _words("--executor launcher=", launcher)
        command(*args, execution=Execution(*commands, writable, not unconfined, crash_limit, allowed), **named)

    return with_options(
        cast(_Command, bundled),
        group("--executor", about, keys, words, other="--executor-command", metavar="COMMAND"),
        click.option("--executor-command", "executor", metavar="COMMAND", hidden=True),
        click.option("--launcher", metavar="COMMAND", hidden=True),
        click.option("--writable", multiple=True, metavar="PATH", hidden=True),
        click.option(
            "--allow", "allowed", multiple=True, type=click.Choice(["programs", "network", "home"]), hidden=True
        ),
        click.option("--unconfined", is_flag=True, hidden=True),
    )
