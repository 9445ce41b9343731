"""`conformance verify`: whether a report is the one that was signed, is about this library, and repeats in a sample."""

from __future__ import annotations

import random
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance_options import executor_options, libraries_of
from diopigen.commands.conformance_running import run_with_progress, started_ahead
from diopigen.commands.grouped import Grouped
from diopigen.console import Session, spec_option

if TYPE_CHECKING:
    from diopigen.conformance.model import Case, CaseResult, Results
    from diopigen.conformance.run.execution import Execution


@click.command(cls=Grouped)
@click.argument("report", metavar="REPORT", type=click.Path(exists=True, dir_okay=False))
@click.option("--lib", metavar="PATH", help="The library that the report is about (default: its path in the report).")
@click.option("--runtime", metavar="PATH", help="libdiopirt.so (default: as for `conformance run`).")
@click.option(
    "--signers", metavar="FILE", help="Allowed signers, as in ssh-keygen(1): REPORT.sig must be of one of them."
)
@click.option("--identity", metavar="NAME", default="", help="The signer's name in that file.")
@click.option(
    "--sample", type=click.IntRange(0), default=200, show_default=True, help="Cases that are repeated, drawn at random."
)
@executor_options
@spec_option
def verify(
    report: str,
    lib: str | None,
    runtime: str | None,
    signers: str | None,
    identity: str,
    sample: int,
    execution: Execution,
    session: Session,
) -> None:
    """Check a report of `conformance run --output json=REPORT`: its signature (REPORT.sig), the digests of library,
    host runtime and spec, and the outcomes of some cases, which are run again."""
    processes = started_ahead()
    from diopigen.conformance.run.identity import library_digest, spec_digest
    from diopigen.conformance.run.provenance import check_signature, provenance, same_facts
    from diopigen.conformance.run.reading import read_results

    if bool(signers) != bool(identity):
        raise click.UsageError("--signers and --identity are given together")
    path = Path(report)
    results = read_results(path)
    lines = []
    if signers or path.with_name(path.name + ".sig").is_file():
        lines.append(f"signature: {check_signature(path, Path(signers) if signers else None, identity)}")
    else:
        lines.append("signature: none")
    libraries = libraries_of(session, lib or results.library, runtime or results.runtime or None)
    now = {"library": library_digest(libraries[0]), "spec": spec_digest(session.workspace().spec)}
    wrong = [f"{name} is not the one of the report" for name, digest in now.items() if _differs(results, name, digest)]
    facts = provenance(libraries[1], session.workspace().spec)
    if "runtime" in results.provenance and results.provenance["runtime"] != facts.get("runtime"):
        wrong.append("the host runtime is not the one of the report")
    lines += [f"differs: {line}" for line in same_facts(results.provenance, facts) if not line.startswith("runtime")]
    lines += [f"WRONG {line}" for line in wrong]
    cases = _sampled(session, results, sample)
    before = {one.case.id: one for one in results.results}
    again = run_with_progress(session, cases, libraries, results.seed, (20.0, 8), execution, processes)
    differing = [one for one in again.results if one.outcome != before[one.case.id].outcome]
    lines += [_difference(before[one.case.id], one) for one in differing]
    lines.append(
        f"repeated: {len(again.results)} of {len(results.results)} cases, {len(differing)} with another outcome"
    )
    click.echo("\n".join(lines))
    sys.exit(int(bool(wrong or differing)))


def _differs(results: Results, name: str, digest: str) -> bool:
    return results.identity.get(name, digest) != digest


def _difference(before: CaseResult, now: CaseResult) -> str:
    fault = f": {now.faults[0].message}" if now.faults else ""
    return f"WRONG {now.case.id} is {before.outcome} in the report, and {now.outcome} here{fault}"


def _sampled(session: Session, results: Results, count: int) -> list[Case]:
    """Some cases of a report, with their arguments."""
    from diopigen.conformance.cases.held_out import HeldOut
    from diopigen.conformance.cases.suite import cases_of, small_calls, tested

    interface = session.load().interface
    names = [one.case.id for one in results.results if one.outcome not in ("excepted", "inapplicable")]
    drawn_ids = set(random.Random(secrets.randbits(64)).sample(names, min(count, len(names))))
    functions = [one for one in tested(interface) if any(name.startswith(f"{one.name}/") for name in drawn_ids)]
    models = small_calls(interface, session.models(), {one.name for one in functions})
    known = [case for one in functions for case in (*cases_of(interface, one), *models.get(one.name, ()))]
    found = {case.id: case for case in known if case.id in drawn_ids}
    drawn = HeldOut(interface, results.seed)
    for name in drawn_ids - set(found):
        case = drawn.find(name)
        if case is not None:
            found[name] = case
    return list(found.values())
