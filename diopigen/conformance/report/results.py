"""Results as text, JSON and JUnit XML. Nothing is printed or written here."""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree import ElementTree

from diopigen.conformance.model import OUTCOMES, PASSING, Case, CaseResult, Ending, Results, Suspect, Waiver
from diopigen.conformance.oracles import oracle_of
from diopigen.conformance.report.accuracy import accuracy_text, rows_of, to_records
from diopigen.conformance.report.left import left_text
from diopigen.conformance.report.overloads import coverage_text
from diopigen.conformance.report.vendor_accuracy import casts_of, converted_text, declared_text, declared_uses
from diopigen.ir.model import Function
from diopigen.output import table

_RED, _GREEN, _YELLOW, _PLAIN = "\033[31m", "\033[32m", "\033[33m", "\033[0m"
_COLUMNS = (
    "passed", "declared", "converted", "failed", "crashed", "hung", "nondeterministic", "excepted", "unimplemented",
    "missing", "uncovered", "inapplicable",
)  # fmt: skip


def repro(case: Case, results: Results, outcome: str = "") -> str:
    """The command that runs one case again as `results` had it, ready for a shell; often enough to see again what an
    `outcome` depends on chance for."""
    words = [] if results.binding else ["--lib", results.library]
    words += ["--runtime", results.runtime] if results.runtime else []
    words += results.options
    words += ["--seed", str(results.seed)] if results.seed else []
    words += ["--repeat", "10"] if outcome == "nondeterministic" else []
    command = f"{results.binding} --case" if results.binding else "repro"
    return f"diopigen conformance {command} '{case.id}' {shlex.join(words)}"


def uncovered(functions: Iterable[Function]) -> list[Function]:
    """The functions whose values no oracle knows."""
    return [function for function in functions if oracle_of(function) is None]


def failure_text(result: CaseResult, results: Results) -> str:
    """One failure in full: id, what is wrong, operands, and how to repeat it."""
    lines = [f"{result.outcome.upper()} {result.case.id}"]
    for fault in result.faults:
        where = f"{fault.parameter}: " if fault.parameter else ""
        lines.append(f"  {fault.kind}: {where}{fault.message}")
        if fault.expected or fault.actual:
            lines.append(f"    expected {fault.expected}")
            lines.append(f"    actual   {fault.actual}")
    if result.outcome == "unimplemented" and result.reason:
        lines.append(f"  left to the reference library: {result.reason}")
    lines += [f"  {operand}" for operand in result.operands]
    lines += ["  the smallest call that fails:"] if result.smallest else []
    lines += [f"    {line}" for line in result.smallest]
    lines.append(f"  repeat with: {repro(result.case, results, result.outcome)}")
    return "\n".join(lines)


def distinct_endings(results: Results) -> list[tuple[Ending, int]]:
    """Errors while processes finalized the library, with the number of processes: one entry for a message, since
    reports of one leak differ by addresses."""
    first: dict[str, Ending] = {}
    for ending in results.endings:
        first.setdefault(ending.message, ending)
    counts = Counter(ending.message for ending in results.endings)
    return [(ending, counts[message]) for message, ending in first.items()]


def unended(results: Results) -> str:
    """Describes the number of processes that failed."""
    count = len(results.endings)
    return "1 process did not end properly" if count == 1 else f"{count} processes did not end properly"


def ending_text(ending: Ending, processes: int = 1) -> str:
    """Error while a process finalized the library, with the library's output."""
    several = f" (in {processes} processes)" if processes > 1 else ""
    return "\n".join([f"LIBRARY {ending.message}{several}", *(f"  {line}" for line in ending.printed.splitlines())])


def serving_text(results: Results) -> list[str]:
    """The other libraries that may have served the calls, one paragraph each."""
    return [
        f"LIBRARY the library has opened {path}, which defines {len(names)} of the functions, such as {names[0]}: "
        "results may be those of that library"
        for path, names in results.serving.items()
    ]


def confined_text(results: Results) -> list[str]:
    """One line on what confined the library, where that is recorded."""
    return [] if results.in_force is None else [f"confined by: {', '.join(results.in_force) or 'nothing'}"]


def suspect_text(suspect: Suspect) -> str:
    """A card that is not to be trusted, and what became of its results."""
    discarded = f"\n  {suspect.discarded} results of this card are discarded" if suspect.discarded else ""
    return f"CARD {suspect.card}: {suspect.message}{discarded}"


def text(
    results: Results, *, colour: bool = False, failures: int = 20, by: str = "family", accuracy: bool = False
) -> str:
    """A table of outcomes by `family`, `function`, `dtype` or `axis`, the first failures in full, and a summary.
    `accuracy` shows the errors of each function."""
    parts = [failure_text(result, results) for result in results.failures[:failures]]
    left = len(results.failures) - len(parts)
    if left > 0:
        parts.append(f"... and {left} more failures; write all of them with --json or --junit")
    outcomes = _table(results.results, by, colour)
    library = " ".join(word for word in (results.library, results.vendor, results.library_version) if word)
    total = len(results.results)
    done = ", ".join(f"{results.counts[word]} {word}" for word in OUTCOMES if results.counts.get(word))
    functions = len({result.case.function for result in results.results})
    summary = f"{library}: {functions} functions, {total} cases in {results.seconds:.1f} s: {done or 'nothing to do'}"
    if results.seed:
        summary += f"; seed {results.seed}"
    if results.endings:
        summary += f"; {unended(results)}"
    if results.not_run:
        summary += f"; interrupted: {results.not_run} cases were not run"
    if results.suspects:
        cards = "1 card is suspect" if len(results.suspects) == 1 else f"{len(results.suspects)} cards are suspect"
        summary += f"; {cards}"
    parts += [ending_text(ending, count) for ending, count in distinct_endings(results)]
    parts += [suspect_text(suspect) for suspect in results.suspects]
    parts += serving_text(results)
    vendor = (*declared_text(results), *converted_text(results), *_exceptions_text(results))
    errors = accuracy_text(results.results, full=accuracy)
    more = (*coverage_text(results), *left_text(results.results), *vendor, *errors, *confined_text(results))
    return "\n\n".join([*parts, outcomes, *more, summary]) + "\n"


@dataclass(frozen=True, slots=True)
class ExceptionUse:
    """Effect of one known exception in a run: the `cases` that it matches, of which `excepted` did not pass by
    themselves."""

    waiver: Waiver
    cases: int
    excepted: int


def exception_uses(results: Iterable[CaseResult]) -> list[ExceptionUse]:
    """The known exceptions that cases of a run have, in order of first use."""
    groups: dict[Waiver, list[CaseResult]] = defaultdict(list)
    for result in results:
        if result.case.waiver is not None:
            groups[result.case.waiver].append(result)
    return [
        ExceptionUse(waiver, len(members), sum(result.outcome == "excepted" for result in members))
        for waiver, members in groups.items()
    ]


def _exceptions_text(results: Results) -> list[str]:
    uses = exception_uses(results.results)
    if not uses:
        return []
    excepted, total = sum(use.excepted for use in uses), len(results.results)
    fraction = 100 * excepted / total
    lines = [f"known exceptions: {excepted} of {total} cases ({fraction:.1f} %) are not counted as passed"]
    width = max(len(use.waiver.where) for use in uses)
    for use in uses:
        kind = f"tolerance x{use.waiver.factor:g}" if use.waiver.kind == "tolerance" else use.waiver.kind
        needed = "" if use.excepted == use.cases else f", {use.excepted} of them excepted"
        lines.append(f"  {use.waiver.where:<{width}}  {kind}  {use.cases} cases{needed}: {use.waiver.reason}")
    return ["\n".join(lines)]


def _table(results: Sequence[CaseResult], by: str, colour: bool) -> str:
    groups: dict[str, list[CaseResult]] = defaultdict(list)
    for result in results:
        groups[str(getattr(result.case, by))].append(result)
    used = [word for word in _COLUMNS if word == "passed" or any(result.outcome == word for result in results)]
    header = [by, "functions", "cases", *used, "seconds"]
    rows = [_row(name, members, used) for name, members in groups.items()]
    rows.append(_row("total", list(results), used))
    head, *padded = table.columns([header, *rows], left=[0])
    rule = table.rule(head)
    if colour:
        padded = [[_coloured(cell, header[index]) for index, cell in enumerate(row)] for row in padded]
    lines = [table.GAP.join(row).rstrip() for row in (head, *padded)]
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])


def _row(name: str, members: Sequence[CaseResult], used: Sequence[str]) -> list[str]:
    counts = Counter(result.outcome for result in members)
    functions = len({result.case.function for result in members})
    numbers = [str(counts[word]) if counts[word] else "." for word in used]
    return [name, str(functions), str(len(members)), *numbers, f"{sum(result.seconds for result in members):.2f}"]


def _coloured(cell: str, column: str) -> str:
    if cell.strip() == "." or column not in OUTCOMES:
        return cell
    colour = {"passed": _GREEN, "failed": _RED, "crashed": _RED, "hung": _RED, "nondeterministic": _RED}.get(
        column, _YELLOW
    )
    return f"{colour}{cell}{_PLAIN}"


def case_record(case: Case) -> dict[str, Any]:
    """A case as an object: id, function, family, dtype, axis."""
    return {
        "id": case.id, "function": case.function, "family": case.family, "dtype": case.dtype, "axis": case.axis,
        **({"overload": case.overload} if case.overload else {}),
    }  # fmt: skip


def result_record(result: CaseResult, repeat: str = "") -> dict[str, Any]:
    """A result as an object; `repeat` is the command that repeats a case with faults."""
    record = {**case_record(result.case), "outcome": result.outcome, "seconds": round(result.seconds, 6)}
    if result.faults:
        names = ("kind", "parameter", "message", "expected", "actual")
        record["faults"] = [{name: getattr(fault, name) for name in names} for fault in result.faults]
        record["operands"] = list(result.operands)
        record.update({"repeat": repeat} if repeat else {})
    if result.smallest:
        record["smallest"] = list(result.smallest)
    if result.reason:
        record["reason"] = result.reason
    if result.case.waiver is not None:
        waiver = result.case.waiver
        record["exception"] = {
            "kind": waiver.kind, "where": waiver.where, "reason": waiver.reason, "factor": waiver.factor,
        }  # fmt: skip
    if result.case.conversion is not None:
        record["conversion"] = {name: dict(casts) for name, casts in result.case.conversion.casts.items()}
    if result.declared:
        record["declared"] = list(result.declared)
    if result.errors:
        record["ulp"] = [
            {**asdict(one), "worst": float(f"{one.worst:.6g}"), "mean": float(f"{one.mean:.6g}")}
            for one in result.errors
        ]
    return record


def to_json(results: Results) -> str:
    """Everything as one JSON object."""
    records = [result_record(result, repro(result.case, results, result.outcome)) for result in results.results]
    document = {
        "library": results.library, "vendor": results.vendor, "version": results.library_version,
        "seed": results.seed, "seconds": results.seconds, "counts": dict(results.counts), "cases": records,
        **({"runtime": results.runtime} if results.runtime else {}),
        **({"options": list(results.options)} if results.options else {}),
        **({"binding": results.binding} if results.binding else {}),
        **({"overloads": {name: list(each) for name, each in results.coverage.items()}} if results.coverage else {}),
        **({"shard": results.shard} if results.shard else {}),
        **({"declared": [asdict(use) for use in declared_uses(results)]} if results.declarations else {}),
        **({"accuracy": to_records(rows)} if (rows := rows_of(results.results)) else {}),
        **({"endings": [asdict(ending) for ending in results.endings]} if results.endings else {}),
        **({"not_run": results.not_run} if results.not_run else {}),
        **({"identity": dict(results.identity)} if results.identity else {}),
        **({"plan": results.plan} if results.plan else {}),
        **({"holes": list(holes)} if (holes := results.holes) else {}),
        **({"suspects": [asdict(one) for one in results.suspects]} if results.suspects else {}),
        **({"in_force": list(results.in_force)} if results.in_force is not None else {}),
        **({"serving": {path: list(names) for path, names in results.serving.items()}} if results.serving else {}),
        **({"requires_all": True} if results.requires_all else {}),
        **({"provenance": dict(results.provenance)} if results.provenance else {}),
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def to_junit(results: Results) -> str:
    """JUnit XML: one suite per function; what is not implemented or not tested is a skipped test with its reason."""
    root = ElementTree.Element("testsuites", name="diopi", time=f"{results.seconds:.3f}")
    groups: dict[str, list[CaseResult]] = defaultdict(list)
    for result in results.results:
        groups[result.case.function].append(result)
    for name, members in groups.items():
        counts = Counter(result.outcome for result in members)
        skipped = sum(counts[outcome] for outcome in _NOT_TESTED)
        attributes = {
            "name": name, "tests": str(len(members)), "failures": str(counts["failed"] + counts["nondeterministic"]),
            "errors": str(counts["crashed"] + counts["hung"]), "skipped": str(skipped),
            "time": f"{sum(result.seconds for result in members):.3f}",
        }  # fmt: skip
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for result in members:
            _junit_case(suite, result, results)
    if results.endings:
        _junit_endings(root, results)
    if results.suspects:
        _junit_suspects(root, results)
    if results.not_run:
        _junit_not_run(root, results.not_run)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _junit_endings(root: ElementTree.Element, results: Results) -> None:
    """A suite of its own for what no case can be blamed for: one test for each process that ended badly."""
    count = str(len(results.endings))
    attributes = {"name": _LIBRARY, "tests": count, "failures": "0", "errors": count, "skipped": "0", "time": "0.000"}
    suite = ElementTree.SubElement(root, "testsuite", attributes)
    for index, ending in enumerate(results.endings, start=1):
        names = {"classname": _LIBRARY, "name": f"{_LIBRARY}/end-of-process-{index}", "time": "0.000"}
        case = ElementTree.SubElement(suite, "testcase", names)
        error = ElementTree.SubElement(case, "error", message=_printable(ending.message))
        error.text = _printable(ending_text(ending))


def _junit_suspects(root: ElementTree.Element, results: Results) -> None:
    """A suite of its own for cards: one test for each that is suspect."""
    count = str(len(results.suspects))
    attributes = {"name": "cards", "tests": count, "failures": "0", "errors": count, "skipped": "0", "time": "0.000"}
    suite = ElementTree.SubElement(root, "testsuite", attributes)
    for suspect in results.suspects:
        names = {"classname": "cards", "name": f"cards/{_printable(suspect.card)}", "time": "0.000"}
        case = ElementTree.SubElement(suite, "testcase", names)
        error = ElementTree.SubElement(case, "error", message=_printable(suspect.message))
        error.text = _printable(suspect_text(suspect))


def _junit_not_run(root: ElementTree.Element, count: int) -> None:
    """A suite of its own for an interrupted run, so that it is not taken for a complete one."""
    attributes = {"name": "run", "tests": "1", "failures": "0", "errors": "1", "skipped": "0", "time": "0.000"}
    suite = ElementTree.SubElement(root, "testsuite", attributes)
    case = ElementTree.SubElement(suite, "testcase", {"classname": "run", "name": "run/interrupted", "time": "0.000"})
    ElementTree.SubElement(case, "error", message=f"the run was interrupted: {count} cases were not run")


_LIBRARY = "library"


def _junit_case(suite: ElementTree.Element, result: CaseResult, results: Results) -> None:
    attributes = {"classname": result.case.function, "name": result.case.id, "time": f"{result.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    if result.outcome in PASSING:
        if result.outcome != "passed":
            ElementTree.SubElement(case, "system-out").text = _printable(why_passed(result, results))
        return
    if result.outcome in _NOT_TESTED:
        ElementTree.SubElement(case, "skipped", message=_printable(why_not_tested(result)))
        return
    message = _printable(result.faults[0].message) if result.faults else result.outcome
    tag = "failure" if result.outcome in ("failed", "nondeterministic") else "error"
    ElementTree.SubElement(case, tag, message=message).text = _printable(failure_text(result, results))


def why_passed(result: CaseResult, results: Results) -> str:
    """The bound that a case passes by, if it is not the ordinary one."""
    if result.outcome == "converted":
        return f"{OUTCOMES[result.outcome]}: {casts_of(result.case)}"
    entries = (f"{where} ({results.declarations.get(where, '')})" for where in result.declared)
    return f"{OUTCOMES[result.outcome]}: {'; '.join(entries)}"


_NOT_TESTED = ("excepted", "unimplemented", "missing", "uncovered", "inapplicable")


def why_not_tested(result: CaseResult) -> str:
    """Why a case counts neither as passed nor as failed."""
    waiver = result.case.waiver
    if result.outcome == "excepted" and waiver is not None:
        return f"known exception ({waiver.kind}, {waiver.where}): {waiver.reason}"
    because = f": {result.reason}" if result.outcome in ("unimplemented", "excepted") and result.reason else ""
    return OUTCOMES[result.outcome] + because


def _printable(message: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(letter if letter >= " " or letter in "\n\t" else "?" for letter in message)
