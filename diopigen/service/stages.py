"""The stages of a request: each is a function of the state that returns its report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diopigen.conformance.model import SUCCESS, Case
from diopigen.conformance.run.shards import sample
from diopigen.service.building import build
from diopigen.service.exports import unexported
from diopigen.service.failures import failures
from diopigen.service.report import FAILED, PASSED, SKIPPED, Report, failed
from diopigen.service.state import State
from diopigen.service.timing import timed

SMOKE = 12
"""Cases of each function in the smoke stage, of as many axes as possible."""


def run_build(state: State) -> Report:
    """Builds the sources."""
    sources = state.request.sources
    assert sources is not None, "the stage is chosen with sources alone"
    folder = state.folder / "build"
    folder.mkdir()
    done = build(
        sources, folder, state.suite.confine, seconds=state.deadline - time.monotonic(),
        memory=state.request.memory_limit, output=state.limits.output_bytes,
    )  # fmt: skip
    if done.library is None:
        return failed(done.wrong, output=done.output)
    state.library = done.library
    return Report(PASSED, {"output": done.output})


def run_exports(state: State) -> Report:
    """Loads the library and looks for the functions."""
    executor = state.bench.executor()
    missing = [one for one in state.selected() if executor.state[one.name] != 1] if state.request.ops else []
    facts = {
        "library": str(state.library), "vendor": executor.vendor, "version": executor.version,
        "functions": [one.name for one in state.functions], "device_memory": executor.has_device,
    }  # fmt: skip
    if missing or not state.functions:
        return Report(FAILED, facts, [unexported(state.library, one) for one in missing] or [unexported(state.library)])
    return Report(PASSED, facts)


def run_contract(state: State) -> Report:
    """Calls that the library has to reject."""
    return _run(state, [case for case in state.cases() if case.expect != SUCCESS])


def run_smoke(state: State) -> Report:
    """A few calls of each function."""
    legal = [case for case in state.cases() if case.expect == SUCCESS]
    return _run(state, sample(legal, SMOKE))


def run_whole(state: State) -> Report:
    """Every case of the suite."""
    return _run(state, state.cases())


def run_held_out(state: State) -> Report:
    """Calls that are not known before the request."""
    count = state.request.held_out
    return _run(state, [case for one in state.functions for case in state.held_out.of(one, count)])


def run_speed(state: State) -> Report:
    """Times calls of the functions, and compares the outputs of those that were timed."""
    rows, found = timed(state.suite.interface, state.functions, state.setup, lambda: state.has_time)
    if not rows:
        return Report(SKIPPED, {"reason": "no call of the functions has the sizes that are timed"})
    return Report(FAILED if found else PASSED, {"times": rows}, found)


def _run(state: State, cases: Sequence[Case]) -> Report:
    results = state.checked(cases)
    counts = Counter(result.outcome for result in results)
    facts: dict[str, Any] = {"cases": len(results), "outcomes": dict(counts)}
    found = failures(state, results)
    if len(results) < len(cases):
        facts["not_called"] = len(cases) - len(results)
        reason = "the function hangs" if state.has_time else "the time of the request is over"
        found.append({"message": f"{facts['not_called']} cases are not called: {reason}"})
    return Report(FAILED if found else PASSED, facts, found)


STAGE_OF: Mapping[str, Callable[[State], Report]] = {
    "build": run_build,
    "exports": run_exports,
    "contract": run_contract,
    "smoke": run_smoke,
    "whole": run_whole,
    "held-out": run_held_out,
    "speed": run_speed,
}
