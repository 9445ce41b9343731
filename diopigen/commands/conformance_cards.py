"""The options of a run over many cards: which part of the cases, which worker on which card, what is recorded."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from diopigen.conformance.model import Case, Results
    from diopigen.conformance.run.runner import Fleet
    from diopigen.conformance.run.shards import Shard

_Command = TypeVar("_Command", bound=Callable[..., Any])
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
MAX_SENTINELS = 1000


@dataclass(frozen=True, slots=True)
class CardOptions:
    """Values of the options."""

    variables: Mapping[str, str] = field(default_factory=dict)
    sentinels: int = 0
    repeat: int = 1
    resume: str | None = None

    def fleet(self, every_case: Sequence[Case], shard: str) -> Fleet:
        """Settings in which the run differs from an ordinary one; sentinel cases are selected from all cases, not only
        those of the shard."""
        from diopigen.conformance.run.cards import WorkerPlan, sentinels
        from diopigen.conformance.run.runner import Fleet

        variables = of_shard(self.variables, shard)
        return Fleet(WorkerPlan(variables, sentinels(every_case, self.sentinels)), self.repeat)


repeat_option = click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=1,
    metavar="N",
    help="Run each case N times; other bytes, or another outcome, are a failure (`nondeterministic`).",
)


def card_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options, which the command gets together as `cards`."""

    @functools.wraps(command)
    def bundled(
        *args: Any, worker_env: tuple[str, ...], sentinels: int, repeat: int, resume: str | None, **named: Any
    ) -> None:
        command(*args, cards=CardOptions(variables_of("--worker-env", worker_env), sentinels, repeat, resume), **named)

    options = (
        click.option(
            "--worker-env",
            multiple=True,
            metavar="NAME=VALUE",
            help="A variable of each worker's environment (may be repeated); {worker} is its number from 0, {shard} "
            "that of the shard: 'CUDA_VISIBLE_DEVICES={worker}' with -j 8 binds eight workers to eight cards.",
        ),
        click.option(
            "--sentinels",
            type=click.IntRange(0, MAX_SENTINELS),
            default=0,
            metavar="N",
            help="Run N cases on each worker before and after all others: a card that differs from the others in their "
            "bytes is suspect, and its cases run again elsewhere.",
        ),
        repeat_option,
        click.option(
            "--resume",
            metavar="FILE",
            help="Append each result to FILE as it comes, and run only what FILE does not hold yet.",
        ),
    )
    found: Callable[..., None] = bundled
    for option in reversed(options):
        found = option(found)
    return found


def variables_of(option: str, words: Sequence[str]) -> dict[str, str]:
    """The variables that an option names."""
    for word in words:
        if not _VARIABLE.match(word):
            raise click.UsageError(f"{option} '{word}': write NAME=VALUE, such as CUDA_VISIBLE_DEVICES={{worker}}")
        for name in re.findall(r"\{(\w*)\}", word):
            if name not in ("worker", "shard"):
                raise click.UsageError(f"{option} '{word}': {{{name}}} is not known; use {{worker}} or {{shard}}")
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def of_shard(variables: Mapping[str, str], shard: str) -> dict[str, str]:
    """The variables with the number of the shard in place of `{shard}`: 1 without one."""
    index = shard.partition("/")[0] or "1"
    return {name: value.replace("{shard}", index) for name, value in variables.items()}


@dataclass(frozen=True, slots=True)
class Parts:
    """The cases of a run: those of its shard, and how all are divided."""

    cases: list[Case]
    plan: str


@dataclass(frozen=True, slots=True)
class Division:
    """The part of a run: only what failed, a shard by what cases cost, some of each function."""

    failed: Set[str] | None
    shard: Shard | None
    costs: Mapping[str, float] | None
    count: int | None

    def parts(self, cases: list[Case]) -> Parts:
        """The part of these cases, and the plan."""
        from diopigen.conformance.run.balance import balanced
        from diopigen.conformance.run.identity import plan_of
        from diopigen.conformance.run.shards import divided, sample

        if self.failed is not None:
            cases = [case for case in cases if case.id in self.failed]
        if self.shard is None:
            parts = [cases]
        elif self.costs is not None:
            parts = balanced(cases, self.costs, self.shard.count)
        else:
            parts = divided(cases, self.shard.count)
        if self.count:
            parts = [sample(one, self.count) for one in parts]
        return Parts(parts[self.shard.index - 1 if self.shard else 0], plan_of(parts))


def division_of(
    shard: str | None, costs_file: str | None, failures_file: str | None, count: int | None = None
) -> Division:
    """Reads the files that the options name: before cases are selected, which takes seconds."""
    from diopigen.conformance.run.reading import read_results
    from diopigen.conformance.run.recorder import failed_ids
    from diopigen.conformance.run.shards import parse_shard

    return Division(
        failed_ids(read_results(Path(failures_file)).results) if failures_file else None,
        None if shard is None else parse_shard(shard),
        costs_of(Path(costs_file)) if costs_file else None,
        count,
    )


def costs_of(file: Path) -> dict[str, float]:
    """The seconds of each case in earlier results. What did not run to its end cost nothing that is worth knowing."""
    from diopigen.conformance.history.store import is_history, opened
    from diopigen.conformance.run.reading import read_results

    if is_history(file):
        with opened(file) as history:
            return history.costs()
    left_out = ("crashed", "excepted")
    return {one.case.id: one.seconds for one in read_results(file).results if one.outcome not in left_out}


def resumed(
    cards: CardOptions, head: Results, cases: list[Case], run: Callable[[list[Case], Fleet], Results], fleet: Fleet
) -> Results:
    """Runs what a recording does not hold yet, and puts both together; without one, all."""
    if cards.resume is None:
        return _described(run(cases, fleet), head)
    from diopigen.conformance.run.reading import with_counts
    from diopigen.conformance.run.recorder import open_recording

    recorder, found = open_recording(Path(cards.resume), head)
    try:
        known = {one.case.id: one for one in found.results}
        left = [case for case in cases if case.id not in known]
        if left:
            recorder.start({number: fleet.plan.card(number) for number in range(_MOST_WORKERS)})
        results = run(left, replace(fleet, recorder=recorder))
        for ending in results.endings:
            recorder.add_ending(ending)
    finally:
        recorder.close()
    fresh = {one.case.id: one for one in results.results}
    every = (fresh.get(case.id) or known.get(case.id) for case in cases)
    by_id = {case.id: case for case in cases}
    joined = tuple(replace(one, case=by_id[one.case.id]) for one in every if one is not None)
    results = replace(
        results,
        results=joined,
        vendor=results.vendor or found.vendor,
        library_version=results.library_version or found.library_version,
        endings=(*found.endings, *results.endings),
    )
    return with_counts(_described(results, head))


_MOST_WORKERS = 64
"""Workers that a start names in a recording."""


def _described(results: Results, head: Results) -> Results:
    return replace(
        results,
        identity=head.identity,
        plan=head.plan,
        expected=head.expected,
        shard=head.shard,
        runtime=head.runtime,
        options=head.options,
        declarations=head.declarations,
        requires_all=head.requires_all,
        provenance=head.provenance,
    )
