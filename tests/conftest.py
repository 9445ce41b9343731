"""What all tests share: the real interface, the emitted headers, and how a missing tool is treated."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.emit.plan import Plan
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parent.parent

# How long an example takes says something about the machine alone.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

os.environ["DIOPIGEN_CACHE"] = "off"  # every test does the work; those of the cache turn it on
for shared in ("header", "host_calls"):  # the facts of the interface and call forms of hosts, for more than one folder
    sys.path.insert(0, str(Path(__file__).parent / shared))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """tests/pytorch loads what other tests must not find: it runs where it is asked for, alone."""
    if collection_path != ROOT / "tests/pytorch":
        return None
    asked = [Path(word.split("::")[0]).resolve() for word in config.args]
    return None if any(path.is_relative_to(collection_path) for path in asked) else True


BUILT = ("adaptor", "cpu", "cuda", "dispatch", "docs", "droplet", "runtime", "sim")
"""Folders whose tests run what the root build made. Those of conformance ask for these fixtures:"""
BUILT_FIXTURES = {"runtime", "tiny_library"}
HEAVY = (
    "check/test_damaged_specs.py",
    "chip/test_chip_header.py",
    "cli/test_adaptors_command.py",
    "cli/test_generate.py",
    "conformance/test_oracles_against_aten.py",
    "conformance/test_oracles_against_torch.py",
    "emit/test_headers_compile.py",
    "output/test_faults.py",
    "scaffold",
    "vendor/test_doctor.py",
    "vendor/test_elementwise.py",
)
"""Files and folders that take tens of seconds of processor time: they generate everything several times, compile by
themselves, or draw hundreds of examples."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what follows from where a test is: `build`, `torch`, `heavy`."""
    heavy = tuple(ROOT / "tests" / name for name in HEAVY)
    for item in items:
        if any(item.path.is_relative_to(path) for path in heavy):
            item.add_marker("heavy")
        folder = item.path.relative_to(ROOT / "tests").parts[0] if item.path.is_relative_to(ROOT / "tests") else ""
        if folder == "pytorch":
            item.add_marker("torch")
        elif folder in BUILT or BUILT_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("build")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Says what a run with the usual choice of tests leaves out."""
    left_out = [name for name in ("slow", "sanitize") if f"not {name}" in str(config.option.markexpr)]
    if left_out:
        marks = " and ".join(left_out)
        terminalreporter.write_line(f"left out: tests marked {marks} (docs/building.md); `make nightly` runs all")


@pytest.fixture(scope="session")
def workspace() -> api.Workspace:
    """The checkout's own spec and templates."""
    return api.Workspace(ROOT / "specs", ROOT / "templates", "specs")


@pytest.fixture(scope="session")
def interface(workspace: api.Workspace) -> Interface:
    """The whole interface, free of findings."""
    sink = Sink()
    loaded = api.load(workspace, sink)
    assert [str(d.span) + " " + d.message for d in sink.sorted()] == []
    return loaded.interface


@pytest.fixture(scope="session")
def header_plan(interface: Interface, workspace: api.Workspace) -> Plan:
    """The six headers."""
    sink = Sink()
    plan = api.plan(interface, workspace, sink, ["headers"])
    assert len(sink) == 0
    return plan


@pytest.fixture(scope="session")
def header_folder(header_plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `diopi/*.h`: what goes behind -I."""
    root = tmp_path_factory.mktemp("headers")
    for path, content in header_plan.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return root / "include"
