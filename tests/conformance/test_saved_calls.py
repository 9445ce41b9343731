"""`conformance repro FOLDER`: a call that a backend of PyTorch kept goes to that backend."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from diopigen.conformance.run.saved_calls import package_of

ROOT = Path(__file__).resolve().parents[2]


def saved_call(folder: Path, device: str) -> Path:
    folder.mkdir()
    (folder / "device").write_text(device)
    (folder / "case.pt").write_bytes(b"")
    return folder


def repro(folder: Path, *paths: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *paths)))}
    words = [sys.executable, "-m", "diopigen", "conformance", "repro", str(folder)]
    return subprocess.run(words, capture_output=True, text=True, env=env)


def test_the_package_follows_from_the_name_of_the_device(tmp_path: Path) -> None:
    assert package_of(saved_call(tmp_path / "good", "droplet\n")) == "torch_droplet"
    assert package_of(saved_call(tmp_path / "odd", "../droplet")) is None
    assert package_of(tmp_path / "missing") is None


def test_the_backend_runs_the_call_and_gives_its_exit_code(tmp_path: Path) -> None:
    for name in ("torch_pebble_for_a_test", "diopi_torch"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / "diopi_torch/repro.py").write_text("import sys\nprint('ran', sys.argv[1:])\nsys.exit(3)\n")
    folder = saved_call(tmp_path / "call", "pebble_for_a_test\n")
    done = repro(folder, tmp_path)
    words = ["--package", "torch_pebble_for_a_test", str(folder)]
    assert (done.returncode, done.stdout) == (3, f"ran {words}\n"), done.stderr


def test_a_backend_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = repro(saved_call(tmp_path / "call", "nowhere\n"))
    assert done.returncode == 2 and "was kept by torch_nowhere, which this Python does not find" in done.stderr


def test_a_case_still_needs_a_library(tmp_path: Path) -> None:
    done = repro(tmp_path / "diopiAdd" / "int32" / "plain")
    assert done.returncode == 2 and "--lib" in done.stderr
