"""A whole campaign over sources: finds places, chooses, builds, measures reach, injects, explains what survives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from diopigen.conformance.model import Case
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface
from lab.mutation.sources import lists, reach
from lab.mutation.sources.build import Tree, build_runtime
from lab.mutation.sources.campaign import Campaign
from lab.mutation.sources.equivalence import Equivalence
from lab.mutation.sources.inject import Injected
from lab.mutation.sources.model import Point, Result
from lab.mutation.sources.sampling import sample, selected
from lab.mutation.sources.scan import Scan

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Selection of faults: `count` faults (0: all) of these families, files and kinds, and named ones if `named` is a
    file. `waivers` lists changes that are no faults."""

    count: int
    seed: int
    families: Sequence[str] = ()
    files: Sequence[str] = ()
    kinds: Sequence[str] = ()
    named: Path | None = None
    waivers: Path | None = None


@dataclass(slots=True)
class Outcome:
    """The results in the order of the sources, the sources, and the cases that fail without any fault."""

    results: list[Result]
    files: dict[str, bytes]
    unsound: list[str] = field(default_factory=list)


class Workshop:
    """A library's sources below `root`: those of `copied` may be changed, `project` builds them."""

    def __init__(self, root: Path, folder: Path, project: str, copied: Sequence[str], jobs: int, say: Say) -> None:
        self.root, self.folder, self.jobs, self.say = root.resolve(), folder, jobs, say
        self.tree = Tree(root, folder, project, copied, jobs=jobs)
        self.files = self.tree.files()

    @cached_property
    def scan(self) -> Scan:
        """Possible changes, read on demand, since named faults need none of them."""
        return Scan(self.tree, self.files, self.tree.units, self._read)

    def _read(self, done: int, total: int) -> None:
        if done % 20 == 0 or done == total:
            self.say(f"read {done} of {total} units")

    def points(self, plan: Plan, sink: Sink) -> tuple[list[Point], list[lists.Waiver]]:
        """The faults of a plan, and the waivers; what is wrong with either list goes to `sink`."""
        found: list[Point] = []
        if plan.named is not None:
            found += lists.named(plan.named, str(plan.named), self.files, sink)
        waivers = lists.waivers(plan.waivers, str(plan.waivers), sink) if plan.waivers is not None else []
        if plan.count >= 0:
            admitted = selected(self.scan.points, families=plan.families, files=plan.files, kinds=plan.kinds)
            found += sample(admitted, plan.count, plan.seed)
            lists.idle(waivers, self.scan.points, sink)
        return found, waivers

    def run(
        self,
        points: Sequence[Point],
        waivers: Sequence[lists.Waiver],
        cases: Sequence[Case],
        interface: Interface,
        runtime: Path | None = None,
        *,
        explain: bool = True,
    ) -> Outcome:
        """Injects the faults and runs the cases over `runtime`, else that of the root. The folder keeps what a later
        run need not do again. Unless `explain`, nothing is compiled to see which survivors change nothing."""
        say = self.say
        injected = Injected(self.tree, self.files, points, say)
        runtime = runtime or build_runtime(self.root, self.folder, self.jobs)
        state = reach.hash_of_file(injected.library)
        say(f"running {len(cases)} cases without a fault")
        reached = reach.measure(
            cases, interface, injected.library, runtime, len(points), self.folder / f"reach-{state}.jsonl",
            jobs=self.jobs, progress=lambda done, total: say(f"{done} of {total} cases") if done % 4000 == 0 else None,
        )  # fmt: skip
        campaign = Campaign(
            interface, injected.library, runtime, reached.by_fault(cases), len(points), thorough=explain
        )
        results = campaign.run(
            injected.points, self.folder / f"results-{state}.jsonl", jobs=self.jobs, progress=self._injected
        )
        results = self._explained(results, waivers, explain)
        results += [Result(point, "stillborn") for point in injected.stillborn]
        order = {point: index for index, point in enumerate(points)}
        results.sort(key=lambda result: order[result.point])
        return Outcome(results, self.files, reached.unsound)

    @cached_property
    def _equivalence(self) -> Equivalence:
        return Equivalence(self.tree.sibling("plain"), self.files, self.scan.includes)

    def _injected(self, done: int, total: int, result: Result) -> None:
        if done % 25 == 0 or done == total or result.outcome == "survived":
            self.say(f"{done} of {total} faults; {result.outcome}: {result.point.id}")

    def _explained(
        self, results: Sequence[Result], waivers: Sequence[lists.Waiver], by_compiling: bool
    ) -> list[Result]:
        """The results, with survivors that are no faults told from holes."""
        found = []
        for result in results:
            waiver = next((one for one in waivers if one.is_about(result.point)), None)
            if result.outcome not in ("survived", "not reached"):
                found.append(result)
            elif waiver is not None:
                found.append(replace(result, outcome="equivalent", reason=waiver.reason))
            elif by_compiling and self._equivalence.shows(result.point):
                found.append(replace(result, outcome="equivalent", reason="the same object code"))
            else:
                found.append(result)
        return found
