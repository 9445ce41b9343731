"""Parts of all cases for machines that share the work, and results put together again.

A case belongs to a shard by its id alone, so that what is added to the spec moves no other case to another machine.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Conversion, Ending, Fault, Measured, Results, Waiver
from diopigen.diagnostics import Sink, Span, failure
from diopigen.spec.json_form import Form, FormFault, read_json

_CODE = "report-unreadable"
_FIX = "name a file that `conformance run --json` wrote"
_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})\Z")


@dataclass(frozen=True, slots=True)
class Shard:
    """The part `index` (from 1) of `count`."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def holds(self, case_id: str) -> bool:
        """Whether a case is of this part."""
        return _number(case_id) % self.count == self.index - 1


def _number(text: str) -> int:
    """A number of 64 bits that has nothing to do with the order of texts."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def parse_shard(text: str) -> Shard:
    """The shard that `I/N` names. Raises `Failure` for anything else."""
    found = _SHARD.match(text)
    if found is None or int(found[1]) > int(found[2]):
        raise failure("bad-shard", f"'{text}' is no shard", fix="write I/N, such as 1/4 for the first of four parts")
    return Shard(int(found[1]), int(found[2]))


def part(cases: Sequence[Case], shard: Shard | None) -> list[Case]:
    """The cases of a shard, in their order; all of them without one."""
    return [case for case in cases if shard is None or shard.holds(case.id)]


def sample(cases: Sequence[Case], count: int) -> list[Case]:
    """At most `count` cases of each function, in their order: one of each axis in turn, which and in which turn follows
    from ids alone."""
    groups: dict[str, dict[str, list[Case]]] = {}
    for case in sorted(cases, key=lambda case: _number(case.id)):
        groups.setdefault(case.function, {}).setdefault(case.axis, []).append(case)
    retained: set[str] = set()
    for function, axes in groups.items():
        turns = itertools.zip_longest(*(axes[axis] for axis in sorted(axes, key=lambda axis: _number(function + axis))))
        retained.update(case.id for case in itertools.islice((case for turn in turns for case in turn if case), count))
    return [case for case in cases if case.id in retained]


def read_results(path: Path) -> Results:
    """Results that `report.to_json` wrote. Their cases have no arguments. Raises `Failure` for any other file."""
    document = read_json(path, _CODE, _FIX)
    try:
        return _results(document)
    except FormFault as error:
        raise failure(_CODE, f"holds no results of a run: {error}", Span(str(path)), _FIX) from None


def _results(document: Form) -> Results:
    results = tuple(_result(record) for record in document["cases"].items())
    shard = document.get("shard", "")
    if shard.text() and _SHARD.match(shard.text()) is None:
        raise shard.fault("a shard, such as '1/4'")
    whole = Results(
        results,
        seconds=document["seconds"].number(),
        seed=document["seed"].whole(0),
        library=document["library"].text(),
        vendor=document["vendor"].text(),
        library_version=document["version"].text(),
        runtime=document.get("runtime", "").text(),
        options=tuple(word.text() for word in document.get("options", []).items()),
        shard=shard.text(),
        endings=tuple(
            Ending(one["message"].text(), one["printed"].text()) for one in document.get("endings", []).items()
        ),
        not_run=document.get("not_run", 0).whole(0),
        declarations={one["where"].text(): one["text"].text() for one in document.get("declared", []).items()},
    )
    return _counted(whole)


def _result(record: Form) -> CaseResult:
    waiver = None
    if "exception" in record:
        waived = record["exception"]
        kind, reason, where = (waived[name].text() for name in ("kind", "reason", "where"))
        waiver = Waiver(kind, reason, where, waived["factor"].number())
    case_id, function, family, dtype, axis = (
        record[name].text() for name in ("id", "function", "family", "dtype", "axis")
    )
    conversion = None
    if "conversion" in record:
        casts = {
            name: {source: target.text() for source, target in one.entries()}
            for name, one in record["conversion"].entries()
        }
        conversion = Conversion(casts)
    case = Case(case_id, function, family, dtype, axis, {}, waiver=waiver, conversion=conversion)
    outcome = record["outcome"]
    if outcome.text() not in OUTCOMES:
        raise outcome.fault("an outcome")
    faults = tuple(
        Fault(*(fault[name].text() for name in ("kind", "parameter", "message", "expected", "actual")))
        for fault in record.get("faults", []).items()
    )
    operands = tuple(operand.text() for operand in record.get("operands", []).items())
    reason = record.get("reason", "").text()
    declared = tuple(where.text() for where in record.get("declared", []).items())
    errors = tuple(_measured(one) for one in record.get("ulp", []).items())
    return CaseResult(case, outcome.text(), record["seconds"].number(), faults, operands, reason, declared, errors)


def _measured(record: Form) -> Measured:
    worst, mean = record["worst"].number(), record["mean"].number()
    return Measured(record["dtype"].text(), worst, mean, record["elements"].whole(1), record["converted"].text())


def _counted(results: Results) -> Results:
    counts = Counter(result.outcome for result in results.results)
    return replace(results, counts={outcome: counts[outcome] for outcome in OUTCOMES})


def merge(parts: Mapping[str, Results], sink: Sink) -> Results:
    """Results by file as one, cases by family and id; seconds are added up.

    What does not belong together goes to `sink`: other libraries or seeds, cases given twice, shards left out.
    """
    files = list(parts)
    first = parts[files[0]]
    for file in files[1:]:
        other = parts[file]
        for what, one, two in (
            ("seed", first.seed, other.seed),
            ("vendor", first.vendor, other.vendor),
            ("version", first.library_version, other.library_version),
        ):
            if one != two:
                message = f"the {what} is '{two}' here and '{one}' in {files[0]}"
                sink.error("report-mixed", message, Span(file), fix="merge the results of one run")
    _check_shards(parts, sink)
    seen: dict[str, str] = {}
    merged: list[CaseResult] = []
    for file, results in parts.items():
        twice = [result.case.id for result in results.results if result.case.id in seen]
        if twice:
            more = f" and {len(twice) - 1} more cases" if len(twice) > 1 else ""
            message = f"{twice[0]}{more} is in {seen[twice[0]]} too"
            sink.error("report-case-twice", message, Span(file), fix="give each shard once")
        for result in results.results:
            seen.setdefault(result.case.id, file)
        merged += results.results
    merged.sort(key=lambda result: (result.case.family, result.case.id))
    whole = replace(
        first,
        results=tuple(merged),
        seconds=sum(results.seconds for results in parts.values()),
        shard="",
        endings=tuple(ending for results in parts.values() for ending in results.endings),
        not_run=sum(results.not_run for results in parts.values()),
        declarations={key: text for results in parts.values() for key, text in results.declarations.items()},
    )
    return _counted(whole)


def _check_shards(parts: Mapping[str, Results], sink: Sink) -> None:
    shards = {file: parse_shard(results.shard) for file, results in parts.items() if results.shard}
    if not shards:
        return
    count = next(iter(shards.values())).count
    for file, results in parts.items():
        if file not in shards or shards[file].count != count:
            message = f"holds {'shard ' + results.shard if results.shard else 'no shard'}, others one of {count}"
            sink.error("report-mixed", message, Span(file), fix="merge the shards of one run")
            return
    missing = sorted(set(range(1, count + 1)) - {shard.index for shard in shards.values()})
    if missing:
        names = ", ".join(f"{index}/{count}" for index in missing)
        span = Span(next(iter(shards)))
        fix = "run it with --shard, then merge again"
        sink.error("report-shard-missing", f"no file holds shard {names}", span, fix=fix)
