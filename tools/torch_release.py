"""Tries a release of torch: which schemas changed, whether the backend builds against it, and which tests fail.

`python tools/torch_release.py 2.16.0`, or without a release the newest one of the package index. The environment is
build/torch-<release>, the build is below build/tests, and the checkout stays as it is. `python tools/snapshot_aten.py
specs/aten`, with the Python of that environment, adds the release to those that are supported.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACTS = ROOT / "specs/aten"
SNAPSHOT = "import json, pathlib, snapshot_aten as s; print(json.dumps(s.updated(pathlib.Path('specs/aten'))))"
RELEASE = "import torch; print(torch.__version__)"
PYTHON = "import sysconfig; print(f'py{sysconfig.get_python_version()}')"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", nargs="?", default="", help="such as 2.15.0; the newest without it")
    parser.add_argument("--tests", default="tests/pytorch", help="what pytest runs over the backend")
    parser.add_argument("--models", action="store_true", help="installs the packages of make test-models first")
    options = parser.parse_args()
    folder = ROOT / "build" / f"torch-{options.release or 'newest'}"
    python = environment(folder / "venv", options.release)
    release = output(python, "-c", RELEASE).strip()
    print(f"torch {release}")
    for line in changes(python):
        print(line)
    if options.models:
        install: list[str | Path] = [python, "tools/install_models.py"]
        subprocess.run(install, cwd=ROOT, check=True)
    of = f"{release.partition('+')[0]}-{output(python, '-c', PYTHON).strip()}"
    defines = [f"-D{word}={python}" for word in ("DIOPIGEN_PYTHON", "Python3_EXECUTABLE")]
    build: list[str | Path] = [python, "tools/build.py", "other_torch", *defines]
    if subprocess.run(build, cwd=ROOT, env={**os.environ, "TORCH": of}, check=False).returncode != 0:
        print("the backend does not build; see above")
        return 1
    workers = ["-n", str(os.cpu_count()), "--dist", "worksteal"]
    tests: list[str | Path] = [python, "-m", "pytest", "-q", *workers, *shlex.split(options.tests)]
    variables = {**os.environ, "DIOPIGEN_TEST_BUILD": f"torch-{of}"}
    return subprocess.run(tests, cwd=ROOT, env=variables, check=False).returncode


def environment(folder: Path, release: str) -> Path:
    """The Python of a new environment with that torch and what tests need. Raises `SystemExit` where pip fails."""
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    torch = f"torch=={release}" if release else "torch"
    packages = ["--editable", ".[dev]", torch, "expecttest"]
    print(f"{folder.relative_to(ROOT)}: pip installs {torch}; a build for CUDA takes some GB", flush=True)
    install: list[str | Path] = [python, "-m", "pip", "install", "-q", "--upgrade", *packages]
    if subprocess.run(install, cwd=ROOT, check=False).returncode != 0:
        raise SystemExit(f"pip does not install {torch}; see above")
    return python


def output(python: Path, *words: str) -> str:
    """The output of a program that must succeed."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    return subprocess.run(
        [python, *words], cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def changes(python: Path) -> list[str]:
    """The lines of specs/aten that this release would add, change or remove."""
    files: dict[str, str] = json.loads(output(python, "-c", SNAPSHOT))
    lines: list[str] = []
    for name, content in files.items():
        path = FACTS / name
        before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        lines += difflib.unified_diff(before, content.splitlines(), name, name, "recorded", "this release", 0, "")
    return lines or ["specs/aten: nothing changed"]


if __name__ == "__main__":
    sys.exit(main())
