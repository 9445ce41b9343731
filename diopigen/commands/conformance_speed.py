"""`conformance speed`: how fast a library is, against the limits of a chip and against a reference library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands import completion
from diopigen.commands.conformance_options import (
    Tested,
    family_option,
    libraries_of,
    library_options,
    ops_option,
    unknown_seed,
)
from diopigen.commands.conformance_running import until_interrupted
from diopigen.commands.conformance_vendor import vendor_options, vendor_side
from diopigen.commands.grouped import Grouped, group
from diopigen.console import INTERRUPTED, Session, spec_option

if TYPE_CHECKING:
    from diopigen.conformance.model import Case
    from diopigen.conformance.run.execution import Execution
    from diopigen.conformance.speed.session import Call

_REFERENCES = ("build/tests/released/libdiopi_impl.so", "build/tests/plain/libdiopi_impl.so")
"""The reference library of a checkout, the first that is built."""
_NO_REFERENCE = "none"


@click.command(cls=Grouped)
@library_options
@click.option(
    "--reference",
    metavar="PATH",
    help="The library to compare with (default: the CPU library of a checkout, if it is built; none: no library).",
)
@ops_option
@family_option
@click.option("--dtype", default="", shell_complete=completion.dtypes, help="Dtype of the calls (default: float32).")
@click.option(
    "--sizes",
    default="small,medium",
    show_default=True,
    metavar="SIZE,SIZE",
    help="Sizes of the calls: small (4 thousand elements), medium (1 million), large (16 million).",
)
@vendor_options()
@group("--output", "Write all results: json=FILE", {"json": "--json"}, metavar="FORM=FILE")
@click.option("--json", "json_file", metavar="FILE", hidden=True)
@spec_option
def speed(
    tested: Tested,
    execution: Execution,
    reference: str | None,
    ops: tuple[str, ...],
    family: tuple[str, ...],
    dtype: str,
    sizes: str,
    impl: str | None,
    chip_file: str | None,
    json_file: str | None,
    session: Session,
) -> None:
    """Time calls of a library by the clock of this process, and compare their outputs. Data is drawn from a random
    seed unless --seed sets it.

    Times are given as a fraction of the peaks in the chip's file (--vendor chip=FILE), and relative to a reference.
    The exit code is 1 if outputs are wrong, a call crashes, or a time is impossible.
    """
    from diopigen.conformance.run.opaque import be_opaque
    from diopigen.conformance.run.provenance import provenance
    from diopigen.conformance.run.runner import paths_of
    from diopigen.conformance.run.worker import Setup
    from diopigen.conformance.speed.report import Score, text, to_json
    from diopigen.conformance.speed.score import findings, served, summary
    from diopigen.conformance.speed.session import Comparison
    from diopigen.conformance.speed.timing import CACHE, last_level_cache
    from diopigen.output.depfile import write_if_changed

    names = _sizes(sizes)
    interface = session.load().interface
    libraries = tested.libraries(session)
    seed = unknown_seed(tested.seed)
    vendor = vendor_side(session, impl, chip_file)
    calls, left_out = _calls(session, ops, family, dtype, names)
    cases = vendor.converted([call.case for call in calls], interface)
    calls = [replace(call, case=case) for call, case in zip(calls, cases, strict=True)]

    def setup(paths: tuple[Path, Path], execution: Execution) -> Setup:
        found = paths_of(*paths, execution)
        limits = (tested.time_limit, tested.memory_limit << 30)
        return Setup(interface, *found, seed, *limits, accuracy=tuple(vendor.accuracy), execution=execution)

    other = _reference(reference)
    cache = vendor.peaks.cache or (CACHE if execution.executor else last_level_cache())
    be_opaque()
    comparison = Comparison(
        setup(libraries, execution),
        None if other is None else setup(libraries_of(session, other, None), _here(execution)),
        cache=cache,
    )
    rows, is_interrupted = until_interrupted(comparison.rows(calls), len(calls), "calls")
    opened = comparison.end()
    score = Score(
        rows,
        [*findings(rows, vendor.peaks, cache), *served(opened)],
        summary(rows, vendor.peaks),
        vendor.peaks,
        str(libraries[0]),
        other or "",
        seed,
        cache,
        left_out,
        provenance(libraries[1], session.workspace().spec),
    )
    if json_file:
        write_if_changed(Path(json_file), to_json(score).encode())
    click.echo(text(score), nl=False)
    sys.exit(INTERRUPTED if is_interrupted else int(bool(score.findings)))


def _sizes(words: str) -> list[str]:
    from diopigen.conformance.speed.sizes import SIZES

    names = list(dict.fromkeys(word.strip() for word in words.split(",")))
    for name in names:
        if name not in SIZES:
            raise click.UsageError(f"--sizes '{words}': '{name}' is none of {', '.join(SIZES)}")
    return sorted(names, key=list(SIZES).index)


def _here(execution: Execution) -> Execution:
    """The execution of the reference, which is a library of this machine."""
    return replace(execution, executor=(), launcher=())


def _reference(path: str | None) -> str | None:
    """The reference; None without one."""
    if path is None:
        return next((one for one in _REFERENCES if Path(one).is_file()), None)
    return None if path == _NO_REFERENCE else path


def _calls(
    session: Session, ops: tuple[str, ...], family: tuple[str, ...], dtype: str, sizes: Sequence[str]
) -> tuple[list[Call], dict[str, list[str]]]:
    """The calls to time, and by size the functions that have none."""
    from diopigen.conformance.cases.models import model_cases
    from diopigen.conformance.cases.suite import matching
    from diopigen.conformance.speed.session import Call
    from diopigen.conformance.speed.sizes import calls_of

    interface = session.load().interface
    functions = matching(interface, ops, family)
    names = {function.name for function in functions}
    recorded: dict[str, list[Case]] = {}
    for model in session.models():
        for case in model_cases(interface, model, names):
            recorded.setdefault(case.function, []).append(case)
    calls: list[Call] = []
    left_out: dict[str, list[str]] = {size: [] for size in sizes}
    for function in functions:
        found = calls_of(interface, function, sizes, dtype, recorded.get(function.name, ()))
        calls += [Call(function, size, case) for size, case in found.items()]
        for size in sizes:
            if size not in found:
                left_out[size].append(function.name)
    return calls, left_out
