"""The templates for schedulers: their commands are ones that diopigen and pytest take, with the options of the page."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from diopigen.cli import cli

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "examples/many-cards"


def called(script: str, folder: Path, **variables: str) -> list[str]:
    """The words of the command that a script ends with, which a stand-in prints."""
    for name in ("diopigen", "python"):
        (folder / name).write_text('#!/bin/bash\nprintf "%q " "$0" "$@"\n')
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "LIB": "a b.so", "RESULTS": "/shared/run 1", **variables}
    done = subprocess.run(["bash", "-euc", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return shlex.split(done.stdout)[1:]


def options(words: list[str]) -> dict[str, Any]:
    """Values that `conformance run` parses from these words."""
    assert words[:2] == ["conformance", "run"]
    group = cli.commands["conformance"]
    assert isinstance(group, click.Group)
    return group.commands["run"].make_context("run", words[2:]).params


def test_slurm(tmp_path: Path) -> None:
    script = (TEMPLATES / "slurm.sh").read_text()
    array = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8"}
    found = options(called(script, tmp_path, **array))
    assert (found["lib"], found["shard"], found["jobs"], found["costs_file"]) == ("a b.so", "3/8", 8, None)
    assert found["worker_env"] == ("CUDA_VISIBLE_DEVICES={worker}",)
    assert (found["resume"], found["sentinels"]) == ("/shared/run 1/3.jsonl", 50)
    more = {"VISIBLE": "ACME_VISIBLE", "COSTS": "last run.json", "CARDS": "4", "COUNT": "64"}
    found = options(called(script, tmp_path, **array, **more))
    assert (found["costs_file"], found["jobs"], found["shard"]) == ("last run.json", 4, "3/64")
    assert found["worker_env"] == ("ACME_VISIBLE={worker}",)


def test_kubernetes(tmp_path: Path) -> None:
    job = yaml.safe_load((TEMPLATES / "kubernetes.yaml").read_text())
    spec = job["spec"]
    assert (job["kind"], spec["completionMode"]) == ("Job", "Indexed")
    (container,) = spec["template"]["spec"]["containers"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    assert variables["COUNT"] == str(spec["completions"])
    found = options(called(container["command"][-1], tmp_path, **variables, JOB_COMPLETION_INDEX="7"))
    assert (found["shard"], found["resume"], found["jobs"]) == ("8/8", "/results/8.jsonl", 8)


def test_one_node(tmp_path: Path) -> None:
    words = called((TEMPLATES / "node.sh").read_text(), tmp_path, CARDS="2")
    assert words[:6] == ["-m", "pytest", "--diopi-lib", "a b.so", "-n", "2"]
    provided = [word for word in words if word.startswith("--diopi-")]
    plugin = (ROOT / "diopigen/pytest_plugin.py").read_text()
    assert provided and all(f'"{word}"' in plugin for word in provided)


@pytest.mark.parametrize("name", ["slurm.sh", "node.sh"])
def test_scripts_can_be_started(name: str) -> None:
    assert os.access(TEMPLATES / name, os.X_OK)
    assert f"examples/many-cards/{name}" in (ROOT / "docs/many-cards.md").read_text()
