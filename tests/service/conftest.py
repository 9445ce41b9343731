"""The suite that requests are served with, over the tiny kernel library of tests/conformance."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from artefacts import artefact
from stage_events import Events, Served

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.run.executor import executor_program
from diopigen.ir.model import Interface
from diopigen.service.job import run_job
from diopigen.service.limits import Limits
from diopigen.service.request import parsed
from diopigen.service.suite import Suite

LIMITS = Limits(time=60.0, call_time=5.0)


@pytest.fixture(scope="session")
def runtime() -> Path:
    return artefact("libdiopirt.so")


@pytest.fixture(scope="session")
def tiny_library() -> Path:
    """The library of tests/conformance/tiny_library.c."""
    return artefact("conformance/libdiopi_impl.so")


@pytest.fixture(scope="session")
def suite(interface: Interface, runtime: Path) -> Suite:
    return Suite(interface, {}, partial(cases_of, interface), str(runtime), str(executor_program()))


@pytest.fixture
def served(suite: Suite, tmp_path: Path) -> Served:
    """Serves a request in this process and returns its events."""

    def serve(**fields: Any) -> Events:
        events: Events = []
        run_job(suite, LIMITS, parsed(fields, LIMITS), tmp_path, lambda event: events.append(dict(event)))
        return events

    return serve
