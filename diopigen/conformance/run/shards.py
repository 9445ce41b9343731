"""Parts of all cases for machines that share the work, and results read again.

A case belongs to a shard by its id alone, so that what is added to the spec moves no other case to another machine.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from diopigen.conformance.model import (
    OUTCOMES,
    Case,
    CaseResult,
    Conversion,
    Ending,
    Fault,
    Measured,
    Results,
    Suspect,
    Waiver,
)
from diopigen.conformance.run.recorder import is_recording, read_recording
from diopigen.diagnostics import Span, failure
from diopigen.spec.json_form import Form, FormFault, read_json
from diopigen.spec.text_file import read_regular

_CODE = "report-unreadable"
_FIX = "name a file that `conformance run --json` or `--resume` wrote"
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
        return number_of(case_id) % self.count == self.index - 1


def number_of(text: str) -> int:
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


def divided(cases: Sequence[Case], count: int) -> list[list[Case]]:
    """The cases of all `count` shards, each in the order of `cases`."""
    parts: list[list[Case]] = [[] for _ in range(count)]
    for case in cases:
        parts[number_of(case.id) % count].append(case)
    return parts


def sample(cases: Sequence[Case], count: int) -> list[Case]:
    """At most `count` cases of each function, in their order: one of each axis in turn, which and in which turn follows
    from ids alone."""
    groups: dict[str, dict[str, list[Case]]] = {}
    for case in sorted(cases, key=lambda case: number_of(case.id)):
        groups.setdefault(case.function, {}).setdefault(case.axis, []).append(case)
    retained: set[str] = set()
    for function, axes in groups.items():
        turns = itertools.zip_longest(
            *(axes[axis] for axis in sorted(axes, key=lambda axis: number_of(function + axis)))
        )
        retained.update(case.id for case in itertools.islice((case for turn in turns for case in turn if case), count))
    return [case for case in cases if case.id in retained]


def read_results(path: Path) -> Results:
    """Results that `report.to_json` or a `Recorder` wrote. Their cases have no arguments. Raises `Failure` for any
    other file."""
    if _begins_as_recording(path):
        return read_recording(path)
    document = read_json(path, _CODE, _FIX)
    try:
        return _results(document)
    except FormFault as error:
        raise failure(_CODE, f"holds no results of a run: {error}", Span(str(path)), _FIX) from None


def _begins_as_recording(path: Path) -> bool:
    try:
        return is_recording(read_regular(path, 64))
    except (OSError, ValueError):
        return False  # what is wrong is said where the file is read


def _results(document: Form) -> Results:
    results = tuple(map(result_of, document["cases"].items()))
    twice, count = max(Counter(one.case.id for one in results).items(), key=lambda pair: pair[1], default=("", 0))
    if count > 1:
        raise FormFault(f"'{twice}' is there {count} times")
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
        identity={key: text.text() for key, text in document.get("identity", {}).entries()},
        plan=document.get("plan", "").text(),
        suspects=tuple(_suspect(one) for one in document.get("suspects", []).items()),
    )
    holes = [name.text() for name in document.get("holes", []).items()]
    expected = (*(one.case.id for one in results), *holes) if whole.plan else ()
    return counted(replace(whole, expected=expected))


def _suspect(record: Form) -> Suspect:
    cases = tuple(case.text() for case in record["cases"].items())
    return Suspect(record["card"].text(), record["message"].text(), cases, record["discarded"].whole(0))


def result_of(record: Form) -> CaseResult:
    """A result that `report.result_record` wrote. Raises `FormFault` for anything else."""
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


def counted(results: Results) -> Results:
    """The results with their outcomes counted."""
    counts = Counter(result.outcome for result in results.results)
    return replace(results, counts={outcome: counts[outcome] for outcome in OUTCOMES})
