"""The work on one request: its stages in order, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from diopigen.diagnostics import Failure
from diopigen.service.limits import Limits
from diopigen.service.protocol import Emit
from diopigen.service.report import FAILED, Report, failed_by
from diopigen.service.request import Request
from diopigen.service.stages import STAGE_OF
from diopigen.service.state import State
from diopigen.service.suite import Suite

_NEEDED = ("build", "exports")
"""Stages without which no later one is possible."""


def run_job(suite: Suite, limits: Limits, request: Request, folder: Path, emit: Emit) -> None:
    """Runs the stages of a request and emits an event for each, the last one being the verdict. `folder` is for files
    of the request."""
    started = time.monotonic()
    state = State(suite, limits, request, folder)
    emit({"event": "started", "stages": list(request.stages), "seed": request.seed})
    status: dict[str, str] = {}
    for stage in request.stages:
        begun = time.monotonic()
        report = _report(STAGE_OF[stage], state)
        status[stage] = report.status
        emit(report.event(stage, time.monotonic() - begun))
        if report.status == FAILED and (stage in _NEEDED or not request.goes_on):
            break
    emit(_verdict(state, status, time.monotonic() - started))


def _report(stage: Callable[[State], Report], state: State) -> Report:
    try:
        return stage(state)
    except Failure as error:
        return failed_by(error)


def _verdict(state: State, status: Mapping[str, str], seconds: float) -> dict[str, object]:
    wrong, failed = state.ended(), [stage for stage, one in status.items() if one == FAILED]
    not_run = [stage for stage in state.request.stages if stage not in status]
    event: dict[str, object] = {
        "event": "verdict",
        "status": "failed" if failed or wrong else "passed",
        "seconds": round(seconds, 3),
        "seed": state.request.seed,
        "confined_by": list(state.in_force),
        "credit": state.credit(is_complete=not not_run),
    }
    more = {"failed_stages": failed, "stages_not_run": not_run, "ending": wrong}
    return {**event, **{name: value for name, value in more.items() if value}}
