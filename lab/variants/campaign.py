"""Runs the cases of the functions that a legal variant replaces: each failure is a false alarm of the suite."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diopigen.conformance.model import FAILURES, Case, CaseResult
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface
from lab.mutation.build import FAULTS, build
from lab.mutation.campaign import counters, mutants, selected
from lab.mutation.model import Mutant
from lab.variants.model import Report, VariantVerdict

SOURCES = FAULTS.with_name("variants")
Progress = Callable[[int, int, VariantVerdict], None]
"""Called after each variant with the number done, the number of all, and what came of it."""


def build_variants(interface: Interface, templates: Path, folder: Path, *, jobs: int = 1) -> Path:
    """The library that forwards every call to another one and writes results again as a variant computes them."""
    return build(interface, templates, folder, jobs=jobs, behaviours=SOURCES)


class Campaign:
    """A variant library over one that passes."""

    def __init__(
        self, cases: Sequence[Case], interface: Interface, true: Path, variants: Path, runtime: Path, *, jobs: int = 1
    ) -> None:
        self.interface, self.true, self.library, self.runtime, self.jobs = interface, true, variants, runtime, jobs
        self.cases: dict[str, list[Case]] = defaultdict(list)
        for case in cases:
            self.cases[case.function].append(case)
        self.found, self.order = mutants(variants, runtime)

    def run(self, globs: Sequence[str] = (), progress: Progress | None = None) -> Report:
        """Outcome of each variant that matches a glob, of all without globs. Raises `Failure` for a glob that names
        none."""
        started = time.monotonic()
        variants = selected(self.found, globs)
        verdicts: list[VariantVerdict] = []
        unsound: set[str] = set()
        with ThreadPoolExecutor(self.jobs) as pool:
            for verdict, failing in pool.map(self._verdict, variants):
                verdicts.append(verdict)
                unsound.update(failing)
                if progress is not None:
                    progress(len(verdicts), len(variants), verdict)
        return Report(verdicts, str(self.true), time.monotonic() - started, sorted(unsound))

    def _verdict(self, variant: Mutant) -> tuple[VariantVerdict, list[str]]:
        functions = [name for name in variant.functions if name in self.cases]
        cases = [case for name in functions for case in self.cases[name]]
        with counters(len(self.order)) as (file, acts):
            results = self._results(cases, variant.name, str(file))
            calls = {name: acts(self.order.index(name))[0] for name in functions}
        failing = [result for result in results if result.outcome in FAILURES]
        # What fails without the variant as well is the library's fault.
        again = self._results([result.case for result in failing], "", "")
        unsound = [result.case.id for result in again if result.outcome in FAILURES]
        failures = tuple(result for result in failing if result.case.id not in unsound)
        idle = tuple(name for name in functions if not calls[name])
        return VariantVerdict(variant, tuple(functions), idle, len(cases), sum(calls.values()), failures), unsound

    def _results(self, cases: Sequence[Case], variant: str, acts: str) -> Sequence[CaseResult]:
        if not cases:
            return ()
        environment = {
            "DIOPI_MUTANT_TARGET": str(self.true.resolve()),
            "DIOPI_MUTANT": variant,
            "DIOPI_MUTANT_ACTS": acts,
        }
        return run(cases, self.interface, self.library, self.runtime, environment=environment).results
