"""A vendor's library on one page: verdict by family, coverage, accuracy, a timeline of kernels, what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen.conformance.model import FAILURES, OUTCOMES, CaseResult, Results
from diopigen.conformance.report.accuracy import Row, recorded, rows_of, shown, summary_rows
from diopigen.conformance.report.results import repro
from diopigen.emit.templates import render
from diopigen.vendor.coverage import STATES, Coverage
from diopigen.vendor.timeline import Event, timeline

_FIRST = 5
"""Entries of each kind among what is next."""
_INEXACT = 2.0
"""An error that exceeds that of the reference library by more than this factor, and one unit, is worth a look."""


@dataclass(frozen=True, slots=True)
class Family:
    """The cases of a family by outcome, over all runs, and its functions by state."""

    name: str
    functions: int
    states: Mapping[str, int]
    outcomes: Mapping[str, int]

    @property
    def kernels(self) -> int:
        """Functions with a kernel of the vendor."""
        return self.states.get("native", 0) + self.states.get("shim", 0)

    @property
    def cases(self) -> int:
        return sum(self.outcomes.values())

    @property
    def failing(self) -> int:
        return sum(self.outcomes.get(outcome, 0) for outcome in FAILURES)


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do next: in a sentence, with the command that begins it, if there is one."""

    text: str
    command: str = ""
    bad: bool = False


def families(runs: Mapping[str, Results], coverage: Coverage | None) -> list[Family]:
    """By family, in the order of the spec where the coverage is known."""
    outcomes: dict[str, Counter[str]] = {}
    functions: dict[str, set[str]] = {}
    states = dict(coverage.families()) if coverage else {}
    for name in states:
        outcomes[name], functions[name] = Counter(), set()
    for results in runs.values():
        for result in results.results:
            outcomes.setdefault(result.case.family, Counter())[result.outcome] += 1
            functions.setdefault(result.case.family, set()).add(result.case.function)
    return [
        Family(
            name,
            sum(states[name].values()) if name in states else len(functions[name]),
            _ordered(states.get(name, {}), STATES),
            _ordered(counts, OUTCOMES),
        )
        for name, counts in outcomes.items()
    ]


def _ordered(counts: Mapping[str, int], order: Mapping[str, str]) -> dict[str, int]:
    return {name: counts[name] for name in order if counts.get(name)}


def next_steps(runs: Mapping[str, Results], coverage: Coverage | None, rows: Sequence[Row]) -> list[Step]:
    """Tasks, the most urgent first: failures, models that cannot run, missing kernels, errors."""
    return [*_failing(runs), *(_uncovered(coverage) if coverage else ()), *_inexact(rows, coverage)]


def _failing(runs: Mapping[str, Results]) -> list[Step]:
    steps = []
    for name, results in runs.items():
        first: dict[str, CaseResult] = {}
        for result in results.failures:
            first.setdefault(result.case.function, result)
        counts = Counter(result.case.function for result in results.failures)
        for function, count in counts.most_common(_FIRST):
            result = first[function]
            why = result.faults[0].message if result.faults else OUTCOMES[result.outcome]
            text = f"{function}: {_cases(count)} of the run {name} failed, {result.case.id} first: {why}"
            steps.append(Step(text, repro(result.case, results, result.outcome), True))
        if len(counts) > _FIRST:
            steps.append(Step(f"{len(counts) - _FIRST} more functions failed in the run {name}", bad=True))
        steps += [Step(f"The run {name}: {ending.message}", bad=True) for ending in results.endings[:1]]
        steps += [Step(f"The run {name}: {one.card} is suspect: {one.message}", bad=True) for one in results.suspects]
        if results.not_run:
            steps.append(Step(f"The run {name} was interrupted: {_cases(results.not_run)} did not run", bad=True))
    return steps


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def _uncovered(coverage: Coverage) -> list[Step]:
    steps = [
        Step(f"{model.name} cannot run: nothing serves {_named(model.blocked)}", bad=True)
        for model in coverage.models
        if model.blocked
    ]
    near = sorted(
        (model for model in coverage.models if model.slowed and not model.blocked), key=lambda model: len(model.slowed)
    )
    for model in near[:_FIRST]:
        lacking = "1 kernel" if len(model.slowed) == 1 else f"{len(model.slowed)} kernels"
        steps.append(Step(f"{model.name} runs on the device once it has {lacking} more: {_named(model.slowed)}"))
    for one in coverage.suggestions[:_FIRST]:
        operator = one.function.removeprefix("diopi")
        steps.append(
            Step(
                f"Write {operator}: {one.fraction:.1%} of the calls of the models ({_named(one.models)})",
                f"diopigen scaffold --vendor {coverage.vendor} --out . --ops {operator}",
            )
        )
    return steps


def _named(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _FIRST} more" if len(names) > _FIRST else ""
    return ", ".join(names[:_FIRST]) + rest


def _inexact(rows: Sequence[Row], coverage: Coverage | None) -> list[Step]:
    """The kernels of the vendor whose errors exceed those of the reference library most."""
    own = (
        {function.name for function in coverage.functions if function.state in ("native", "shim")} if coverage else None
    )
    name = next((one.name for one in recorded()), "")
    ratios = [
        (row.worst / row.others[name][0], row)
        for row in rows
        if name in row.others and row.others[name][0] > 0 and (own is None or row.function in own)
    ]
    worst = sorted(ratios, key=lambda pair: -pair[0])
    return [
        Step(
            f"{row.function} in {row.dtype} is off by {shown(row.worst)} ULP in {row.case}; "
            f"the {name} library is off by {shown(row.others[name][0])}"
        )
        for factor, row in worst[:_FIRST]
        if factor > _INEXACT and row.worst > row.others[name][0] + 1
    ]


def to_html(
    runs: Mapping[str, Results],
    coverage: Coverage | None,
    trace: Sequence[Event],
    links: Mapping[str, str],
    templates: Path,
) -> bytes:
    """The page. `runs` are results by the name of the run, `links` addresses of other pages by name."""
    every = [result for results in runs.values() for result in results.results]
    rows = rows_of(every)
    failing = sum(len(results.failures) for results in runs.values())
    first = next(iter(runs.values()))
    vendor = " ".join(word for word in (first.vendor, first.library_version) if word) or Path(first.library).name
    good = all(results.good for results in runs.values())
    facts = [("cases", str(len(every))), ("functions", str(len({result.case.function for result in every})))]
    if coverage:
        facts.append(("models", str(len(coverage.models))))
    values = {
        "title": f"{vendor}: overview",
        "facts": facts,
        "good": good,
        "verdict": _verdict(failing, len(every), good),
        "share": _share(coverage),
        "runs": runs,
        "links": links,
        "steps": next_steps(runs, coverage, rows),
        "families": families(runs, coverage),
        "coverage": coverage,
        "states": STATES,
        "outcomes": OUTCOMES,
        "all_states": _ordered(Counter(one.state for one in coverage.functions), STATES) if coverage else {},
        "all_outcomes": _ordered(Counter(result.outcome for result in every), OUTCOMES),
        "accuracy": summary_rows(rows) if rows else [],
        "compared": " and ".join(f"{one.name} {one.version}" for one in recorded()),
        "timeline": timeline(trace),
    }
    return render(templates, "overview/page.html.j2", values, autoescape=True)


def _verdict(failing: int, cases: int, good: bool) -> str:
    if failing:
        return f"{failing} of {cases} cases failed"
    return "No case failed" if good else "A run did not end properly"


def _share(coverage: Coverage | None) -> str:
    if coverage is None:
        return ""
    kernels = coverage.count("native") + coverage.count("shim")
    blocked = sum(bool(model.blocked) for model in coverage.models)
    text = f"{kernels} of {len(coverage.functions)} functions have a kernel"
    return f"{text}; {len(coverage.models) - blocked} of {len(coverage.models)} models run" if coverage.models else text
