"""Files of results, read again: what `conformance run --json` or `--resume` wrote."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from diopigen.conformance.model import OUTCOMES, Ending, Results, Suspect
from diopigen.conformance.run.recorder import is_recording, read_recording
from diopigen.conformance.run.records import result_of
from diopigen.conformance.run.shards import is_shard
from diopigen.diagnostics import Span, failure
from diopigen.spec.json_form import Form, FormFault, read_json
from diopigen.spec.text_file import read_regular

_CODE = "report-unreadable"
_FIX = "name a file that `conformance run --json` or `--resume` wrote"


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
    if shard.text() and not is_shard(shard.text()):
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
        binding=document.get("binding", "").text(),
        coverage={
            name: tuple(one.text() for one in each.items()) for name, each in document.get("overloads", {}).entries()
        },
        shard=shard.text(),
        endings=tuple(
            Ending(one["message"].text(), one["printed"].text()) for one in document.get("endings", []).items()
        ),
        not_run=document.get("not_run", 0).whole(0),
        declarations={one["where"].text(): one["text"].text() for one in document.get("declared", []).items()},
        identity={key: text.text() for key, text in document.get("identity", {}).entries()},
        plan=document.get("plan", "").text(),
        suspects=tuple(_suspect(one) for one in document.get("suspects", []).items()),
        in_force=_in_force(document),
        provenance={name: text.text() for name, text in document.get("provenance", {}).entries()},
        serving={
            path: tuple(name.text() for name in names.items()) for path, names in document.get("serving", {}).entries()
        },
    )
    holes = [name.text() for name in document.get("holes", []).items()]
    expected = (*(one.case.id for one in results), *holes) if whole.plan else ()
    return with_counts(replace(whole, expected=expected))


def _in_force(document: Form) -> tuple[str, ...] | None:
    return tuple(name.text() for name in document["in_force"].items()) if "in_force" in document else None


def _suspect(record: Form) -> Suspect:
    cases = tuple(case.text() for case in record["cases"].items())
    return Suspect(record["card"].text(), record["message"].text(), cases, record["discarded"].whole(0))


def with_counts(results: Results) -> Results:
    """The results with their outcomes counted."""
    counts = Counter(result.outcome for result in results.results)
    return replace(results, counts={outcome: counts[outcome] for outcome in OUTCOMES})
