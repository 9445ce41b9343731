"""Injects one fault after another and lets the suite look for it, function by function, until a case finds it."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import struct
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from diopigen.conformance.model import FAILURES, SUCCESS, Case, CaseResult, Operand
from diopigen.conformance.run.binding import load_shared
from diopigen.conformance.run.runner import CaseRunner, run
from diopigen.diagnostics import did_you_mean, failure
from diopigen.ir.model import Interface
from lab.mutation.model import Mutant, MutantVerdict, Report, Trial

Progress = Callable[[int, int, MutantVerdict], None]
"""Called after each fault with the number done, the number of all, and what came of it."""
Acts = Callable[[int], tuple[int, int]]
"""Number of times the fault has acted in a function, by index: with an effect, and before a rejected call."""
_SOUND = ("passed", "uncovered")
_HANGS = 10.0
"""Seconds after which a call counts as hanging: the true library answers all cases within far less."""


def mutants(library: Path, runtime: Path) -> tuple[list[Mutant], list[str]]:
    """The faults that a mutant library can inject, and its functions in the order in which it counts."""
    load_shared(runtime, "the host runtime", os.RTLD_GLOBAL | os.RTLD_NOW)
    loaded = load_shared(library, "the mutant library", os.RTLD_LOCAL | os.RTLD_NOW)
    texts = []
    for name in ("diopiMutantFaults", "diopiMutantFunctions"):
        function = loaded[name]
        function.argtypes, function.restype = [], ctypes.c_char_p
        texts.append(function().decode())
    found = []
    for line in texts[0].splitlines():
        name, kind, sentence, functions = line.split("\t")
        found.append(Mutant(name, kind, sentence, tuple(f"diopi{word}" for word in functions.split())))
    return found, [f"diopi{word}" for word in texts[1].split()]


def selected(found: Sequence[Mutant], globs: Sequence[str]) -> list[Mutant]:
    """The faults of which a glob matches the name or the kind; all without globs. Raises `Failure` for one that matches
    none."""
    for glob in globs:
        if not any(_matches(mutant, glob) for mutant in found):
            fix = did_you_mean(glob, [mutant.name for mutant in found]) or "list them with --list"
            raise failure("unknown-mutant", f"there is no fault '{glob}'", fix=fix)
    return [mutant for mutant in found if not globs or any(_matches(mutant, glob) for glob in globs)]


def _matches(mutant: Mutant, glob: str) -> bool:
    return fnmatchcase(mutant.name, glob) or fnmatchcase(mutant.kind, glob)


class Campaign:
    """A mutant library over a true one, with the cases that the true one passes."""

    def __init__(
        self,
        cases: Sequence[Case],
        interface: Interface,
        true: Path,
        mutant: Path,
        runtime: Path,
        *,
        jobs: int = 1,
        seed: int = 0,
        by_axis: bool = False,
    ) -> None:
        """Runs the cases without any fault: those that do not pass show nothing and are named in `unsound`. `by_axis`
        tries the cases of each axis until one of them fails, in place of all cases until one fails.

        An interrupt (SIGINT) is raised again: without these results nothing can be said.
        """
        self.interface, self.true, self.mutant, self.runtime, self.jobs = interface, true, mutant, runtime, jobs
        self.seed, self.by_axis = seed, by_axis
        self.cases: dict[str, list[Case]] = defaultdict(list)
        self.unsound: list[str] = []
        self.found, self.order = mutants(mutant, runtime)
        target = {"DIOPI_MUTANT_TARGET": str(true.resolve()), "DIOPI_MUTANT": "", "DIOPI_MUTANT_ACTS": ""}
        self.environment: Mapping[str, str] = target
        results = run(cases, interface, mutant, runtime, jobs=jobs, seed=seed, environment=target)
        if results.not_run:
            raise KeyboardInterrupt
        self._stopped = threading.Event()
        for result in results.results:
            if "/overlap-" in result.case.id:
                continue
            if result.outcome in _SOUND:
                self.cases[result.case.function].append(result.case)
            elif result.outcome in FAILURES:
                self.unsound.append(result.case.id)
        # Cases about operands that share memory are left out: a fault that reads an operand from a copy of it parts
        # them, and would be found without merit.
        for members in self.cases.values():
            members.sort(key=weight)

    def run(self, injected: Sequence[Mutant], progress: Progress | None = None) -> Report:
        """The verdict on each fault, in their order; after an interrupt (SIGINT) on those that were done."""
        started = time.monotonic()
        found: dict[str, MutantVerdict] = {}
        # The faults that are in most functions come first, so that no process is alone at the end.
        order = sorted(injected, key=lambda mutant: -len(mutant.functions))
        with ThreadPoolExecutor(self.jobs) as pool:
            running = [pool.submit(self.verdict, mutant) for mutant in order]
            try:
                for done in as_completed(running):
                    verdict = done.result()
                    found[verdict.mutant.name] = verdict
                    if progress is not None:
                        progress(len(found), len(injected), verdict)
            except BaseException as error:
                self._stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                if not isinstance(error, KeyboardInterrupt):
                    raise
        cases = sum(len(members) for members in self.cases.values())
        verdicts = [found[mutant.name] for mutant in injected if mutant.name in found]
        not_run = len(injected) - len(verdicts)
        return Report(verdicts, str(self.true), cases, time.monotonic() - started, self.unsound, not_run)

    def verdict(self, mutant: Mutant) -> MutantVerdict:
        """Injects a fault and looks for it in every function."""
        started = time.monotonic()
        functions = [name for name in mutant.functions if name in self.cases]
        cases = [case for name in functions for case in self.cases[name]]
        with counters(len(self.order)) as (file, acts):
            environment = {**self.environment, "DIOPI_MUTANT": mutant.name, "DIOPI_MUTANT_ACTS": str(file)}
            runner = CaseRunner(
                cases, self.interface, self.mutant, self.runtime,
                seed=self.seed, time_limit=_HANGS, environment=environment, stays=True, acts=str(file),
            )  # fmt: skip
            try:
                trials = tuple(self._trial(name, runner, acts) for name in functions)
            finally:
                runner.close()
        return MutantVerdict(mutant, trials, time.monotonic() - started)

    def _trial(self, function: str, runner: CaseRunner, acts: Acts) -> Trial:
        cases = self.cases[function]
        index = self.order.index(function)
        groups: dict[str, list[Case]] = defaultdict(list)
        for case in cases:
            groups[case.axis if self.by_axis else ""].append(case)
        failing = {axis: self._first_failure(members, runner) for axis, members in groups.items()}
        first = next((result for result in failing.values() if result is not None), None)
        if first is None:
            return Trial(function, cases[0].family, "survived" if acts(index)[0] else "not reached", axes=tuple(groups))
        # What fails although the fault has not acted is no merit of the suite.
        outcome = "killed" if any(acts(index)) else "unsound"
        found_as = first.faults[0].kind if first.faults else first.outcome
        killing = tuple(axis for axis, result in failing.items() if result is not None)
        return Trial(function, cases[0].family, outcome, first.case.id, found_as, tuple(groups), killing)

    def _first_failure(self, cases: Sequence[Case], runner: CaseRunner) -> CaseResult | None:
        for chunk in _chunks(cases):
            if self._stopped.is_set():
                raise KeyboardInterrupt
            for result in runner.check_all(chunk):
                if result.outcome in FAILURES:
                    return result
        return None


def weight(case: Case) -> tuple[bool, int]:
    """Order of the cases: successful calls before rejected ones, small operands before large ones."""
    items = [item for value in case.arguments.values() for item in (value if isinstance(value, tuple) else (value,))]
    return case.expect != SUCCESS, sum(math.prod(item.shape) for item in items if isinstance(item, Operand))


def _chunks(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    """Few cases first, as most faults are found by the first one, then ever more, to wait seldom."""
    start, size = 0, 2
    while start < len(cases):
        yield cases[start : start + size]
        start, size = start + size, 2 * size


@contextmanager
def counters(functions: int) -> Iterator[tuple[Path, Acts]]:
    """A file in which a mutant library counts, per function, and a way to read it: it outlives a crash."""
    size = 16 * functions
    with tempfile.NamedTemporaryFile(prefix="diopigen-acts-") as file:
        file.truncate(size)
        with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as memory:

            def acts(index: int) -> tuple[int, int]:
                certain, uncertain = struct.unpack_from("=QQ", memory, 16 * index)
                return certain, uncertain

            yield Path(file.name), acts
