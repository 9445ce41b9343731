"""Several devices, events and memory, as a framework's backend uses them (diopigen/accelerator.h)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import artefact

PROGRAM = Path(__file__).with_name("accelerator_program.py")

REGISTRY = Path(__file__).with_name("registry.c")


@pytest.fixture(scope="module")
def registry() -> Path:
    """A library that keeps the table which a vendor's library offers."""
    return artefact("cuda/libregistry.so")


@pytest.mark.parametrize(
    ("scenario", "environment"),
    [
        ("streams", {}),
        ("streams", {"STREAMS": "lazy"}),
        ("order", {"STREAMS": "lazy"}),
        ("progress", {"STREAMS": "lazy"}),
        ("devices", {"DEVICES": "2"}),
        ("devices", {"DEVICES": "2", "STREAMS": "lazy"}),
        ("late", {}),
        ("late", {"STREAMS": "lazy"}),
        ("late", {"CHECKS": "now"}),
        ("memory", {"MEMORY": "65536"}),
        ("memory", {"MEMORY": "65536", "STREAMS": "lazy"}),
    ],
)
def test_a_backend_finds_devices_and_events(
    emulated: tuple[Path, Path], registry: Path, scenario: str, environment: dict[str, str]
) -> None:
    settings = {
        f"DIOPI_CUDA_{'' if name == 'CHECKS' else 'EMULATION_'}{name}": environment[name] for name in environment
    }
    command = [sys.executable, str(PROGRAM), *map(str, emulated), str(registry), scenario]
    finished = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **settings})
    assert (finished.returncode, finished.stdout) == (0, "passed\n"), finished.stderr
