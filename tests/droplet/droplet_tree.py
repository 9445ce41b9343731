"""droplet brought up as `make demo` does it, with changes to its sources; the root build compiles it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from artefacts import FOLDER, ROOT, artefact
from click.testing import CliRunner
from programs import HOUR

from diopigen.cli import cli

EXAMPLE = ROOT / "examples/droplet"
SPEC = ("--spec", str(ROOT / "specs"))


@dataclass(frozen=True)
class Change:
    """A place in a source file below impl/droplet, and what is there instead."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Built:
    tree: Path
    library: Path
    runtime: Path


def command(*words: str | Path) -> None:
    """A command of diopigen that must find nothing."""
    done = CliRunner().invoke(cli, [*map(str, words), *SPEC])
    assert done.exit_code == 0, done.output


def bring_up(tree: Path, changes: Iterable[Change] = ()) -> None:
    """Scaffolds, copies the handwritten files with the changes, and generates the rest."""
    command("scaffold", "--vendor", "droplet", "--out", tree, "--ops", "Roll")
    shutil.copytree(EXAMPLE, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("README.md", "__pycache__"))
    for change in changes:
        path = tree / "impl/droplet" / change.file
        text = path.read_text()
        assert text.count(change.old) == 1, f"{change.old!r} is {text.count(change.old)} times in {change.file}"
        path.write_text(text.replace(change.old, change.new))
    command("elementwise", tree / "impl/droplet", "--chip", tree / "droplet.yaml")
    command("adaptors", tree / "impl/droplet", "--out", tree / "generated/adaptors/droplet")
    command("chip", tree / "droplet.yaml", "--out", tree / "generated/chip")


def built_tree(name: str) -> Built:
    """A tree of write_sources.py as the root build leaves it: `clean`, `injected`, `faulty`."""
    library = artefact(f"droplet/{name}/libdiopi_impl.so")
    return Built(FOLDER / "plain/build/tests/droplet/written" / name, library, artefact("libdiopirt.so"))


def environment(**variables: str) -> dict[str, str]:
    """The environment without the switches of this machine, and with these."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}, **variables}


def run_diopigen(*words: str | Path, folder: str | Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command of diopigen in a process of its own."""
    command_line = [sys.executable, "-m", "diopigen", *map(str, words), *SPEC]
    env = environment(PYTHONPATH=str(ROOT), **variables)
    return subprocess.run(command_line, capture_output=True, text=True, cwd=folder, env=env)


def conformance(built: Built, report: Path, *options: str, **variables: str) -> tuple[int, dict[str, Any], str]:
    """`diopigen conformance run` on the vendor's library by itself: exit code, report and what it printed."""
    report.unlink(missing_ok=True)
    run: list[str | Path] = [
        "conformance",
        "run",
        "--time-limit",
        str(HOUR),
        "--lib",
        built.library,
        "--runtime",
        built.runtime,
        "--json",
        report,
        *options,
    ]
    done = run_diopigen(*run, **variables)
    return done.returncode, json.loads(report.read_text()) if report.exists() else {}, done.stdout + done.stderr
