"""The command that runs the cases of the suite on a device of PyTorch: aten."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.combinations import combinations, needs
from diopigen.commands.conformance import exit_code
from diopigen.commands.conformance_cards import division_of, repeat_option
from diopigen.commands.conformance_options import (
    Report,
    Selection,
    limit_options,
    report_options,
    seed_option,
    selection_options,
    shard_options,
    unknown_seed,
)
from diopigen.commands.conformance_running import (
    known_exceptions,
    run_with_progress,
    select_held_out,
    started_ahead,
    waived,
)
from diopigen.commands.grouped import Grouped
from diopigen.console import Session, spec_option

if TYPE_CHECKING:
    from diopigen.conformance.model import Case
    from diopigen.ir.model import Interface


@click.command(cls=Grouped)
@click.option("--device", default="cpu", show_default=True, metavar="DEVICE", help="cpu, cuda:0, mps, npu, droplet ...")
@click.option(
    "--register",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="Import this module first: the package of a device, or one that registers kernels (may be repeated).",
)
@click.option(
    "--compile", "compiler", default="", metavar="BACKEND", help="Call what torch.compile makes: inductor, diopi ..."
)
@click.option(
    "--operators",
    metavar="FILE",
    help="Call operators of another library in the place of ATen's: functions of the spec with their names (YAML).",
)
@click.option("--python", metavar="PATH", help="The Python that has torch (default: this one).")
@click.option("--case", "case_id", metavar="ID", help="This case alone, printed whole.")
@click.option("--binding", type=click.Choice(("aten",)), hidden=True)
@seed_option
@partial(limit_options, memory=0, time=None, about="20; 600 with --compile")
@selection_options("failures", "sample")
@shard_options
@click.option(
    "--held-out",
    is_flag=False,
    flag_value=8,
    type=click.IntRange(1),
    metavar="[N]",
    help="In place of the cases: N calls of each function (8), drawn from its contract with a random seed.",
)
@repeat_option
@click.option("--require-all", is_flag=True, help="Overloads that are missing or not implemented count as failures.")
@click.option("--exceptions", "exceptions_file", metavar="FILE", help="Known exceptions (YAML).")
@click.option(
    "--known-faults",
    "with_known_faults",
    is_flag=True,
    help="Known faults of PyTorch's CPU, and known choices (generated/docs/pytorch-faults.md), count as failures.",
)
@click.option("-j", "--jobs", type=click.IntRange(1), help="Worker processes (default: the number of processors).")
@partial(report_options, signed=True)
@spec_option
@combinations(needs("costs_file", "shard"), needs("sign_key", "json_file"))
def aten(
    device: str,
    modules: tuple[str, ...],
    compiler: str,
    operators: str | None,
    python: str | None,
    case_id: str | None,
    binding: str | None,
    seed: int,
    time_limit: float | None,
    memory_limit: int,
    crash_limit: int,
    selection: Selection,
    shard: str | None,
    costs_file: str | None,
    failures_file: str | None,
    sample: int | None,
    held_out: int | None,
    repeat: int,
    require_all: bool,
    exceptions_file: str | None,
    with_known_faults: bool,
    jobs: int | None,
    report: Report,
    session: Session,
) -> None:
    """Run the cases on a device of PyTorch: each through every overload of ATen that the spec names for its function.

    Needs torch, and no library, header or build. Which calls are legal is for PyTorch's own meta functions to say.
    """
    if time_limit is None:
        time_limit = 600.0 if compiler else 20.0  # compilers of C++ take seconds, on a busy machine minutes
    processes = started_ahead()
    from diopigen.conformance.aten.caller import AtenCaller
    from diopigen.conformance.aten.custom import with_composed, with_operators
    from diopigen.conformance.aten.forms import through_overloads
    from diopigen.conformance.aten.known import known_text
    from diopigen.conformance.aten.origins import ask_origins, origins_of
    from diopigen.conformance.run.execution import Execution
    from diopigen.conformance.run.identity import settings_digest, spec_digest
    from diopigen.conformance.run.provenance import provenance
    from diopigen.conformance.run.runner import Fleet

    division = division_of(shard, costs_file, failures_file, sample)
    known = known_exceptions(session, exceptions_file)
    interface = session.load().interface
    if operators is not None:
        interface = with_operators(interface, operators, session.sink)
        if session.sink.has_errors:
            session.finish()
    else:
        interface = with_composed(interface)
    workers = jobs or os.cpu_count() or 1
    threads = max(1, (os.cpu_count() or 1) // workers)
    caller = AtenCaller(device, modules, compiler, python or sys.executable, threads)
    asked = ask_origins(caller, interface)
    if case_id is not None:
        selected = [_case(session, interface, case_id, seed)]
    elif held_out is None:
        selected = selection.cases(session)
    else:
        seed = unknown_seed(seed)
        selected = select_held_out(session, selection.ops, selection.family, selection.dtype, seed, held_out)
    if case_id is None:
        selected = list(through_overloads(interface, selected))
    part = division.parts(selected)
    cases = waived(session, part.cases, known)
    entries = [(one.waiver.kind, one.waiver.factor, one.glob, sorted(one.dtypes)) for one in known]
    words = (*caller.words, *(("--operators", operators) if operators else ()))
    coverage = origins_of(asked, caller, cases)
    results = run_with_progress(
        session, cases, (Path(device), Path()), seed, (time_limit, memory_limit),
        Execution(is_confined=False, crash_limit=crash_limit), processes, workers, caller=caller,
        fleet=Fleet(repeat=repeat), interface=interface,
    )  # fmt: skip
    results = replace(
        results,
        binding="aten",
        options=words,
        coverage=coverage,
        requires_all=require_all,
        shard=shard or "",
        identity={
            "library": f"{results.library_version}",
            "spec": spec_digest(session.workspace().spec),
            "settings": settings_digest((words, repeat, entries)),
        },
        plan=part.plan,
        expected=tuple(case.id for case in cases),
        provenance=provenance(Path(), session.workspace().spec),
    )
    explained: dict[str, int] = {}
    if not with_known_faults:
        results, explained = caller.excepting.with_known(results)
    report.write(session, results)
    if case_id is not None:
        from diopigen.conformance.report.results import failure_text

        click.echo(failure_text(results.results[0], results))
    else:
        report.show(results)
        click.echo("\n".join(["", *known_text(explained)]) + "\n" if explained else "", nl=False)
    sys.exit(exit_code(results))


def _case(session: Session, interface: Interface, case_id: str, seed: int) -> Case:
    """The case of an id with an overload."""
    from diopigen.conformance.cases.held_out import HeldOut
    from diopigen.conformance.cases.suite import find

    name, sign, overload = case_id.rpartition("@")
    if not sign:
        raise click.UsageError(f"'{case_id}' names no overload: write it as in a report, CASE@OVERLOAD")
    case = HeldOut(interface, seed).find(name) or find(interface, name, session.models())
    function = next(function for function in interface.functions if function.name == case.function)
    known = [one.name for one in function.aten]
    if overload not in known:
        raise click.UsageError(f"the spec has no overload '{overload}' for {function.name}: {', '.join(known)}")
    return replace(case, id=case_id, overload=overload)
