"""Tests a library with cases: all of them at once, or one after another."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from diopigen.chip.accuracy import Declaration
from diopigen.conformance.cases.models import AXIS as MODEL_AXIS
from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Ending, Results
from diopigen.conformance.run.processes import Processes
from diopigen.conformance.run.session import Progress, Session
from diopigen.conformance.run.worker import Setup
from diopigen.ir.model import Function, Header, Interface

MEMORY_LIMIT = 8 << 30


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
    launcher: Sequence[str] = (),
    processes: Processes | None = None,
    accuracy: Sequence[Declaration] = (),
    packed: Path | None = None,
) -> Results:
    """Runs cases in `jobs` processes; `time_limit` is seconds for a case and for `finalizeLibrary` after the last one,
    `memory_limit` bytes for a process (0: none). `environment` is added to that of the processes.
    `device` is as for `Setup`, `launcher` as for `Processes.take`; `processes` may have some that were started ahead.
    `accuracy` is what the chip's file declares, `packed` as for `Setup`.

    An interrupt (SIGINT) ends the run: `Results` then has the cases that finished, and counts the others in `not_run`.
    Raises `Failure` where the library, the runtime or the launcher does not load.
    """
    started = time.monotonic()
    called = [case for case in cases if not is_skipped(case)]
    setup = Setup(
        _slim(interface, called),
        library,
        runtime,
        seed,
        memory_limit,
        environment or {},
        device=device,
        accuracy=tuple(accuracy),
        packed=packed,
    )
    session = Session(setup, time_limit, progress, launcher, processes)
    found = session.run(called, max(1, min(jobs, -(-sum(map(weight, called)) // _CHUNK))))
    finished = iter(found)
    every = [CaseResult(case, "excepted", 0.0) if is_skipped(case) else next(finished) for case in cases]
    results = tuple(result for result in every if result is not None)
    counts = Counter(result.outcome for result in results)
    return Results(
        results,
        time.monotonic() - started,
        seed,
        str(library),
        session.vendor,
        session.version,
        {outcome: counts[outcome] for outcome in OUTCOMES},
        endings=tuple(session.endings),
        not_run=len(every) - len(results),
    )


_CHUNK = 200
"""Ordinary cases that are worth the start of one more process."""


def weight(case: Case) -> int:
    """How many ordinary cases take as long as this one, roughly."""
    return _CHUNK // 4 if case.axis == MODEL_AXIS else 1


def is_skipped(case: Case) -> bool:
    """Whether a known exception keeps a case from being called at all."""
    return case.waiver is not None and case.waiver.kind == "skip"


def _slim(interface: Interface, cases: Sequence[Case]) -> Interface:
    """The interface with the functions of the cases only, and without what a worker does not need."""
    names = {case.function for case in cases}

    def slim(function: Function) -> Function:
        return replace(function, cases=(), constraints=(), aten=(), spans={})

    headers = tuple(
        Header(h.file, h.doc, (), (), tuple(slim(f) for f in h.functions if f.name in names), h.span)
        for h in interface.headers
    )
    return replace(interface, headers=headers, aten_schemas={}, file_of={}, family_docs={}, files=())


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
    ) -> None:
        """`cases` are all that may be asked about; limits and `accuracy` are as for `run`. `environment` is added to
        that of the process; `stays` and `acts` are those of `Setup`."""
        setup = Setup(_slim(interface, cases), library, runtime, seed, memory_limit, environment or {}, stays, acts)
        setup = replace(setup, accuracy=tuple(accuracy))
        self._session = Session(setup, time_limit)
        self._session.open = True

    def check(self, case: Case) -> CaseResult:
        """What came of a case. Raises `Failure` where the library or the runtime does not load."""
        if is_skipped(case):
            return CaseResult(case, "excepted", 0.0)
        return self._session.check([case])[0]

    def check_all(self, cases: Sequence[Case]) -> list[CaseResult]:
        """What came of several cases, none of which is to be skipped, in their order."""
        return self._session.check(cases)

    def end(self) -> tuple[Ending, ...]:
        """Lets the process leave the library and end; what went wrong with that, as after `run`."""
        return self._session.end()

    def close(self) -> None:
        """Ends the process at once."""
        self._session.close()
