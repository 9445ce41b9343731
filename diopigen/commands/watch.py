"""`diopigen watch`: check again, and generate on request, whenever a file of the spec changes."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from diopigen.console import Session, common_options

_State = Mapping[Path, "tuple[int, int]"]
"""Modification time of each file, in nanoseconds, and its size in bytes."""

_SHOWN = 3
"""So many changed files are named."""


@click.command("watch")
@click.option("--generate", "generates", is_flag=True, help="Generate as well where check finds no error.")
@click.option(
    "--interval", type=click.FloatRange(0.05), default=0.5, show_default=True, help="Seconds between two looks."
)
@common_options
@click.pass_context
def watch(
    context: click.Context,
    generates: bool,
    interval: float,
    session: Session,
) -> None:
    """Check the spec again whenever one of its files, a template or diopigen.yaml changes, until Ctrl-C.

    Each run is a block: what changed, the findings, and the exit code.
    """
    where = session.workspace()
    config = context.find_root().params["config"]
    settings = Path(config or "diopigen.yaml")
    selected = _selected(session)
    commands = [_command(config, "check", selected)]
    if generates:
        commands.append(_command(config, "generate", selected))
    before: _State = {}
    program = b""
    while True:
        # Taken before the run: what changes during it starts the next one.
        now = _state((where.spec, where.templates), settings)
        if now != before:
            program = program or _import_what_runs_need()
            _run(program, commands, _changes(before, now) if before else ["the first run"])
            before = now
        time.sleep(interval)


def _selected(session: Session) -> list[str]:
    """The options as they were given here or in diopigen.yaml."""
    selected = ["--format", session.output_format, "--strict" if session.strict else "--no-strict"]
    where = session.workspace()
    # Named, so that a run does not read another spec while this one is being moved.
    spec = session.spec or (where.spec_name if where.has_own_spec else None)
    selected += ["--spec", spec] if spec is not None else []
    return selected + (["--templates", session.templates] if session.templates is not None else [])


def _command(config: str | None, name: str, selected: Sequence[str]) -> list[str]:
    return [*(["--config", config] if config is not None else []), name, *selected]


def _import_what_runs_need() -> bytes:
    """Imports the modules that each run starts with, and returns a digest of the program."""
    from diopigen import api
    from diopigen.check.rule import families

    api.targets()
    list(families())
    for name in ("diopigen.completeness.operators", "diopigen.conformance.cases.tables", "diopigen.output.apply"):
        importlib.import_module(name)
    return _program()


def _program() -> bytes:
    """A digest of diopigen as its files are; empty where they cannot be read."""
    from diopigen.output import cache

    try:
        return cache.forget_program()
    except OSError:
        return b""


def _run(program: bytes, commands: Sequence[Sequence[str]], changed: Sequence[str]) -> None:
    """One block: what changed, then each command until one ends with another code than 0."""
    call = _forked if program and program == _program() else _started
    click.echo(f"== {time.strftime('%H:%M:%S')} {', '.join(changed)}")
    code = 0
    for command in commands:
        sys.stdout.flush()
        code = call(command)
        if code:
            break
    click.echo(f"-- exit code {code}")
    sys.stdout.flush()


def _forked(command: Sequence[str]) -> int:
    """Exit code of a command in a copy of this process: what a run loads and caches in memory is of its files alone."""
    process = multiprocessing.get_context("fork").Process(target=_called, args=(command,))
    process.start()
    process.join()
    return process.exitcode or 0


def _started(command: Sequence[str]) -> int:
    """As `_forked`, in a new process: diopigen itself has changed, or a file of the spec that is part of it."""
    return subprocess.run(
        [sys.executable, "-m", "diopigen", *command], stderr=subprocess.STDOUT, check=False
    ).returncode


def _called(command: Sequence[str]) -> None:
    """`python -m diopigen` in this process, with findings on standard output."""
    os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
    sys.argv = ["diopigen", *command]
    runpy.run_module("diopigen", run_name="__main__")


def _state(folders: Sequence[Path], settings: Path) -> _State:
    return {path: (found.st_mtime_ns, found.st_size) for path, found in _files(folders, settings)}


def _files(folders: Sequence[Path], settings: Path) -> Iterator[tuple[Path, os.stat_result]]:
    from diopigen.spec.folder import entries_below

    for folder in folders:
        try:
            paths = [entry.path for entry in entries_below(folder)]
        except OSError:
            continue  # it is being moved, or is gone: check says so in the next run
        for path in [*paths, folder]:
            yield from _stat(path)
    yield from _stat(settings)


def _stat(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    with contextlib.suppress(OSError):
        yield path, path.stat()


def _changes(before: _State, now: _State) -> list[str]:
    """Describes the difference; of many files the first."""
    changed = [f"{path} changed" for path in now if path in before and before[path] != now[path] and not path.is_dir()]
    changed += [f"{path} is new" for path in now if path not in before]
    changed += [f"{path} is gone" for path in before if path not in now]
    shown = changed[:_SHOWN]
    return [*shown, f"and {len(changed) - len(shown)} more"] if len(changed) > len(shown) else shown or ["a folder"]
