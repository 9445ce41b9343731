"""Commands on conformance: list the cases, run them on a library, run one case again."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.collection import no_collection
from diopigen.commands.combinations import combinations, needs
from diopigen.commands.conformance_cards import CardOptions, card_options, division_of, repeat_option, resumed
from diopigen.commands.conformance_options import (
    Report,
    Selection,
    Tested,
    library_options,
    report_options,
    selection_options,
    shard_options,
    unknown_seed,
)
from diopigen.commands.conformance_running import (
    known_exceptions,
    packed_calls,
    run_with_progress,
    select_held_out,
    started_ahead,
    waived,
    with_smallest,
)
from diopigen.commands.conformance_vendor import vendor_options, vendor_side
from diopigen.commands.grouped import Grouped, group
from diopigen.console import INTERRUPTED, Session, show_findings, spec_option
from diopigen.diagnostics import Sink

if TYPE_CHECKING:
    from diopigen.conformance.model import Case, Results
    from diopigen.conformance.run.execution import Execution
    from diopigen.conformance.run.runner import Fleet


class _Group(click.Group):
    """`run --binding aten` is `aten`: a run on a device of PyTorch has options of its own."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        words = list(args)
        if words[:1] == ["run"] and ("--binding", "aten") in itertools.pairwise(words):
            words[0] = "aten"
        return super().resolve_command(ctx, words)


@click.group(cls=_Group)
def conformance() -> None:
    """Test a kernel library through the C interface, by cases that follow from the spec."""


@conformance.command("list", cls=Grouped)
@selection_options("failures")
@shard_options
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", help="Form.")
@spec_option
@combinations(needs("costs_file", "shard"))
def list_cases(
    selection: Selection,
    shard: str | None,
    costs_file: str | None,
    failures_file: str | None,
    output_format: str,
    session: Session,
) -> None:
    """List the cases."""
    with no_collection():
        division = division_of(shard, costs_file, failures_file)
        cases = division.parts(selection.cases(session)).cases
    if output_format == "json":
        from diopigen.conformance.report.results import case_record

        click.echo(json.dumps([case_record(case) for case in cases], indent=1))
    elif cases:
        click.echo("\n".join(case.id for case in cases))


@conformance.command(cls=Grouped)
@library_options
@selection_options("failures", "sample")
@shard_options
@click.option(
    "--held-out",
    is_flag=False,
    flag_value=8,
    type=click.IntRange(1),
    metavar="[N]",
    help="In place of the cases: N calls of each function (8) with sizes, values and layouts drawn from its contract, "
    "in a random order. Their seed is random, and named at the end, unless --seed sets it.",
)
@card_options
@group(
    "--through",
    "validation: call through the validation layer, which rejects what the spec forbids; tvm_ffi: through packed "
    "functions of tvm-ffi",
    words={"validation": ("--validated",), "tvm_ffi": ("--binding", "tvm_ffi")},
    metavar="LAYER",
)
@click.option("--validated", is_flag=True, hidden=True)
@click.option("--binding", type=click.Choice(("c", "tvm_ffi")), default="c", hidden=True)
@click.option("--require-all", is_flag=True, help="Functions that are missing or not implemented count as failures.")
@vendor_options("device", "exceptions")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Worker processes (default: the number of processors).")
@partial(report_options, signed=True)
@spec_option
@combinations(needs("costs_file", "shard"), needs("sign_key", "json_file"))
def run(
    tested: Tested,
    selection: Selection,
    shard: str | None,
    costs_file: str | None,
    failures_file: str | None,
    sample: int | None,
    held_out: int | None,
    cards: CardOptions,
    execution: Execution,
    validated: bool,
    binding: str,
    require_all: bool,
    device: str,
    impl: str | None,
    chip_file: str | None,
    exceptions_file: str | None,
    jobs: int | None,
    report: Report,
    session: Session,
) -> None:
    """Run cases and print what came of them, function by function or family by family.

    Ctrl-C ends the run: the cases that finished are reported and written, and the exit code is 130.
    """
    if validated:
        # The dispatch library reads its switches from the environment of the processes that run cases.
        switches = {"DIOPI_VALIDATE": "refuse", "DIOPI_VALIDATE_VALUES": "1", "DIOPI_FALLBACK": "off"}
        os.environ.update(switches, DIOPI_VENDOR_LIBRARY=str(Path(tested.lib).absolute()))
    processes = started_ahead()
    from diopigen.conformance.model import Results
    from diopigen.conformance.run.exceptions import unneeded
    from diopigen.conformance.run.factors import free_factors
    from diopigen.conformance.run.identity import library_digest, settings_digest, spec_digest
    from diopigen.conformance.run.locate import dispatch_library
    from diopigen.conformance.run.provenance import provenance

    libraries, seed = tested.libraries(session), tested.seed
    if selection.ops and binding == "c" and not (selection.family or selection.model or impl or exceptions_file):
        session.load_some(selection.ops)
    if validated:
        libraries = dispatch_library(libraries[0]), libraries[1]
    division = division_of(shard, costs_file, failures_file, sample)
    known = known_exceptions(session, exceptions_file)
    vendor = vendor_side(session, impl, chip_file)
    if held_out is None:
        selected = selection.cases(session)
    else:
        seed = unknown_seed(seed)
        selected = select_held_out(session, selection.ops, selection.family, selection.dtype, seed, held_out)
    part = division.parts(selected)
    cases = waived(session, part.cases, known)
    cases = vendor.converted(cases, session.load().interface)
    entries = [(one.waiver.kind, one.waiver.factor, one.glob, sorted(one.dtypes)) for one in known]
    through = "validation" if validated else None
    declared = sorted(map(str, vendor.accuracy))
    settings = (through, binding, device, cards.repeat, entries, vendor.options, declared)
    head = Results(
        (),
        0.0,
        seed,
        str(libraries[0]),
        runtime=tested.runtime or "",
        options=(*vendor.options, *execution.words),
        requires_all=require_all,
        provenance=provenance(libraries[1], session.workspace().spec),
        shard=shard or "",
        declarations={one.where: str(one) for one in vendor.accuracy},
        identity={
            "library": library_digest(libraries[0]),
            "spec": spec_digest(session.workspace().spec),
            "settings": settings_digest(settings),
        },
        plan=part.plan,
        expected=tuple(case.id for case in cases),
    )

    def run_these(these: list[Case], fleet: Fleet) -> Results:
        return run_with_progress(
            session,
            these,
            libraries,
            seed,
            tested.limits,
            execution,
            processes,
            jobs or os.cpu_count() or 1,
            device,
            vendor.accuracy,
            packed_calls(session, libraries[0]) if binding == "tvm_ffi" else None,
            fleet,
        )

    # What a known exception is about is called on no card for its own sake.
    candidates = [case for case in selected if not any(one.names(case) for one in known)]
    fleet = cards.fleet(candidates, shard or "")
    sentinels = vendor.converted(list(fleet.plan.sentinels), session.load().interface)
    fleet = replace(fleet, plan=replace(fleet.plan, sentinels=tuple(sentinels)))
    results = resumed(cards, head, cases, run_these, fleet)
    if held_out is not None:
        results = with_smallest(session, results, libraries, tested.limits, execution, vendor.accuracy)
    report.write(session, results)
    afterwards = Sink()
    unneeded(known, results.results, afterwards)
    free_factors(known, session.load().interface, afterwards)
    if len(afterwards):
        show_findings(afterwards.sorted(), "text")
    report.show(results)
    sys.exit(exit_code(results))


def exit_code(results: Results) -> int:
    """0 where all is well, 130 for an interrupted run, else 1."""
    return INTERRUPTED if results.not_run else int(not results.good)


def _saved_call(_context: click.Context, _param: click.Parameter, value: str) -> str:
    """Hands a folder that a backend of PyTorch kept to that backend, and ends with its exit code."""
    from diopigen.conformance.run.saved_calls import package_of

    package = package_of(Path(value))
    if package is None:
        return value
    if importlib.util.find_spec(package) is None:
        fix = "install it, or name its folder in PYTHONPATH"
        raise click.UsageError(f"{value} was kept by {package}, which this Python does not find: {fix}")
    sys.exit(subprocess.run([sys.executable, "-m", "diopi_torch.repro", "--package", package, value]).returncode)


@conformance.command(cls=Grouped)
@click.argument("case_id", metavar="CASE", is_eager=True, callback=_saved_call)
@repeat_option
@library_options
@vendor_options()
@spec_option
def repro(
    case_id: str,
    repeat: int,
    tested: Tested,
    execution: Execution,
    impl: str | None,
    chip_file: str | None,
    session: Session,
) -> None:
    """Run one case alone and print its operands, what was expected and what came.

    CASE may also be a folder that DIOPI_AUTOCOMPARE kept; the backend of PyTorch that kept it then runs the call, and
    needs no options.
    """
    processes = started_ahead()
    from diopigen.conformance.cases.held_out import HeldOut
    from diopigen.conformance.cases.suite import find
    from diopigen.conformance.report.results import ending_text, failure_text
    from diopigen.conformance.run.runner import Fleet

    libraries = tested.libraries(session)
    drawn = HeldOut(session.load().interface, tested.seed).find(case_id)
    case = drawn or find(session.load().interface, case_id, session.models())
    vendor = vendor_side(session, impl, chip_file)
    cases = vendor.converted([case], session.load().interface)
    fleet = Fleet(repeat=repeat)
    results = run_with_progress(
        session, cases, libraries, tested.seed, tested.limits, execution, processes, accuracy=vendor.accuracy,
        fleet=fleet,
    )  # fmt: skip
    results = replace(results, runtime=tested.runtime or "", options=(*vendor.options, *execution.words))
    if results.not_run:
        raise KeyboardInterrupt
    click.echo(failure_text(results.results[0], results))
    for ending in results.endings:
        click.echo(ending_text(ending))
    sys.exit(0 if results.good else 1)
