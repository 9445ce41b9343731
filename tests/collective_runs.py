"""Runs of the suite of collectives over a library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from artefacts import artefact
from programs import HOUR


def run_collectives(
    library: Path, tmp_path: Path, *options: str, **variables: str
) -> tuple[int, str, list[dict[str, Any]]]:
    """Exit code, text and results of a run."""
    results = tmp_path / "results.json"
    command = [
        sys.executable,
        "-m",
        "diopigen",
        "conformance",
        "collectives",
        "--time-limit",
        str(HOUR),
        "--lib",
        str(library),
    ]
    command += ["--runtime", str(artefact("libdiopirt.so")), "--json", str(results), *options]
    environment = {**os.environ, "DIOPI_SIM_FABRIC_TIMEOUT": str(int(HOUR) * 1000), **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr, json.loads(results.read_text())["results"]


def axes(*names: str) -> list[str]:
    """The options that select cases of these axes."""
    return [word for name in names for word in ("--axis", name)]
