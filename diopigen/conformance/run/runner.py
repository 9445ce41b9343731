"""Tests a library with cases: all of them at once, or one after another."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from diopigen.chip.accuracy import Declaration
from diopigen.conformance.cases.models import AXIS as MODEL_AXIS
from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Ending, Results, Suspect
from diopigen.conformance.run.caller import Caller
from diopigen.conformance.run.cards import WorkerPlan, suspects
from diopigen.conformance.run.case_workers import CaseWorkers, Progress
from diopigen.conformance.run.execution import DEFAULT, Execution
from diopigen.conformance.run.processes import Processes
from diopigen.conformance.run.recorder import Recorder
from diopigen.conformance.run.worker import Setup
from diopigen.diagnostics import failure
from diopigen.ir.aten_model import Aten
from diopigen.ir.model import Function, Header, Interface

MEMORY_LIMIT = 8 << 30


@dataclass(frozen=True, slots=True)
class Fleet:
    """Settings of a run over many cards."""

    plan: WorkerPlan = field(default_factory=WorkerPlan)
    repeat: int = 1
    """Number of runs of each case; its outputs must have the same bytes each time."""
    recorder: Recorder | None = None
    """File in which each result is recorded as it arrives."""


def run(
    cases: Sequence[Case],
    interface: Interface,
    library: Path,
    runtime: Path,
    *,
    jobs: int = 1,
    seed: int = 0,
    time_limit: float = 20.0,
    memory_limit: int = MEMORY_LIMIT,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
    device: str = "",
    processes: Processes | None = None,
    accuracy: Sequence[Declaration] = (),
    caller: Caller | None = None,
    fleet: Fleet | None = None,
    execution: Execution = DEFAULT,
) -> Results:
    """Runs cases in `jobs` processes; `time_limit` is seconds for a call and for `finalizeLibrary` after the last one,
    `memory_limit` bytes for an executor (0: none). `environment` is added to that of the executors.
    `processes` may have some that were started ahead. `accuracy` is what the chip's file declares; `device`,
    `caller` and `execution` are as for `Setup`. Results of cards that turn out to be
    suspect are discarded; where other cards are left, the cases run again there.

    An interrupt (SIGINT) ends the run: `Results` then has the cases that finished, and counts the others in `not_run`.
    Raises `Failure` where the library, the runtime or the launcher does not load.
    """
    started = time.monotonic()
    fleet = fleet or Fleet()
    called = [case for case in cases if not is_skipped(case)]
    setup = Setup(
        slim(interface, (case.function for case in called)),
        *paths_of(library, runtime, execution, caller),
        seed,
        time_limit,
        memory_limit,
        environment or {},
        device=device,
        accuracy=tuple(accuracy),
        caller=caller,
        repeat=fleet.repeat,
        digests=bool(fleet.plan.sentinels),
        execution=execution,
        shows_all=len(called) == 1,
    )
    recorder = fleet.recorder or Recorder()
    for case in cases:
        if is_skipped(case):
            recorder.add(CaseResult(case, "excepted", 0.0))
    session = CaseWorkers(setup, None, processes, fleet.plan)

    def note(done: int, total: int, result: CaseResult) -> None:
        recorder.add(result, session.vendor, session.version)
        if progress is not None:
            progress(done, total, result)

    session.progress, session.on_sentinel = note, recorder.add_sentinel
    processes_needed = -(-sum(map(weight, called)) // _CHUNK)
    found = session.run(called, jobs if fleet.plan.variables else max(1, min(jobs, processes_needed)))
    marked = _suspects(session, fleet, found)
    endings, vendor, version = session.endings, session.vendor, session.version
    if marked:
        found = [None if one is not None and one.worker in marked else one for one in found]
        for number in marked:
            recorder.discard(number)
        left = tuple(sorted({one.worker for one in session.sentinels} - set(marked)))
        again = [index for index, one in enumerate(found) if one is None]
        if left and again and not session.interrupted:
            session = CaseWorkers(setup, note, processes, replace(fleet.plan, sentinels=(), workers=left))
            for index, result in zip(again, session.run([called[index] for index in again], len(left)), strict=True):
                found[index] = result
            endings = endings + session.endings
    finished = iter(found)
    every = [CaseResult(case, "excepted", 0.0) if is_skipped(case) else next(finished) for case in cases]
    results = tuple(result for result in every if result is not None)
    counts = Counter(result.outcome for result in results)
    return Results(
        results,
        time.monotonic() - started,
        seed,
        str(library),
        vendor,
        version,
        {outcome: counts[outcome] for outcome in OUTCOMES},
        endings=tuple(endings),
        not_run=len(every) - len(results),
        suspects=tuple(marked.values()),
        in_force=session.in_force,
        serving={path: tuple(names) for path, names in session.serving.items()},
    )


def paths_of(library: Path, runtime: Path, execution: Execution, caller: Caller | None = None) -> tuple[str, str]:
    """The paths of library and runtime for the executor: as they were given, where it may be on another machine, or
    where they are no files."""
    if execution.executor or (caller is not None and not caller.names_files):
        return str(library), str(runtime)
    for path, what in ((runtime, "the host runtime"), (library, "the library under test")):
        if not path.is_file():
            raise failure("library-missing", f"{what} '{path}' does not exist", fix="build it, or name another file")
    return str(library.resolve()), str(runtime.resolve())


def _suspects(session: CaseWorkers, fleet: Fleet, found: Sequence[CaseResult | None]) -> Mapping[int, Suspect]:
    if not session.sentinels:
        return {}
    of_cards = {
        number: [one for one in session.sentinels if one.worker == number]
        for number in sorted({one.worker for one in session.sentinels})
    }
    results = Counter(one.worker for one in found if one is not None)
    return suspects(of_cards, {number: fleet.plan.card(number) for number in of_cards}, results)


_CHUNK = 200
"""Ordinary cases that are worth the start of one more process."""


def weight(case: Case) -> int:
    """Approximate cost, in ordinary cases."""
    return _CHUNK // 4 if case.axis == MODEL_AXIS else 1


def is_skipped(case: Case) -> bool:
    """Returns whether a known exception keeps a case from being called at all."""
    return case.waiver is not None and case.waiver.kind == "skip"


def slim(interface: Interface, names: Iterable[str]) -> Interface:
    """The interface with the named functions only, and without what a worker does not need."""
    names = frozenset(names)

    def without_facts(function: Function) -> Function:
        return replace(function, cases=(), constraints=(), spans={})

    headers = tuple(
        Header(h.file, h.doc, (), (), tuple(without_facts(f) for f in h.functions if f.name in names), h.span)
        for h in interface.headers
    )
    return replace(interface, headers=headers, aten=Aten(), file_of={}, family_docs={}, files=())


class CaseRunner:
    """Tests a library with one case at a time, in a process that stays: pytest, say, hands out cases itself."""

    def __init__(
        self,
        cases: Sequence[Case],
        interface: Interface,
        library: Path,
        runtime: Path,
        *,
        seed: int = 0,
        time_limit: float = 20.0,
        memory_limit: int = MEMORY_LIMIT,
        environment: Mapping[str, str] | None = None,
        stays: bool = False,
        acts: str = "",
        accuracy: Sequence[Declaration] = (),
        repeat: int = 1,
        execution: Execution = DEFAULT,
        caller: Caller | None = None,
    ) -> None:
        """`cases` are all that may be asked about; limits and `accuracy` are as for `run`, `repeat` as for `Fleet`.
        `environment` is added to that of the executor; `stays`, `acts`, `execution` and `caller` are those of
        `Setup`."""
        paths = paths_of(library, runtime, execution, caller)
        setup = Setup(
            slim(interface, (case.function for case in cases)), *paths, seed, time_limit, memory_limit,
            environment or {}, stays, acts, accuracy=tuple(accuracy), repeat=repeat, shows_all=True,
            execution=execution, caller=caller,
        )  # fmt: skip
        self._session = CaseWorkers(setup)
        self._session.open = True

    @property
    def version(self) -> str:
        """The version that the library has named, once it is open."""
        return self._session.version

    def check(self, case: Case) -> CaseResult:
        """Runs a case and returns its result. Raises `Failure` where the library or the runtime does not load."""
        if is_skipped(case):
            return CaseResult(case, "excepted", 0.0)
        return self._session.check([case])[0]

    def check_all(self, cases: Sequence[Case]) -> list[CaseResult]:
        """Runs several cases, none of which is to be skipped, and returns their results in order."""
        return self._session.check(cases)

    def end(self) -> tuple[Ending, ...]:
        """Lets the process leave the library and end; what went wrong with that, as after `run`."""
        return self._session.end()

    def close(self) -> None:
        """Ends the process at once."""
        self._session.close()
