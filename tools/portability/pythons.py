"""Other versions of Python and NumPy, each in a virtual environment of its own."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from pathlib import Path

from builds import WORK, Skipped, run_logged

_TESTS_NEED = ("pytest", "pytest_xdist", "hypothesis", "jsonschema", "ruff", "clang_format")
"""Packages of the extra `dev` that the unit tests import or run."""


def interpreter(version: str) -> Path:
    """An interpreter of a version such as 3.12: one in PATH, else one of pyenv. Raises `Skipped`."""
    found = shutil.which(f"python{version}")
    candidates = [Path(found)] if found else []
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    for candidate in candidates:
        done = subprocess.run([str(candidate), "-c", "import ensurepip, venv, sys; print(sys.version_info[:2])"],
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode == 0 and done.stdout.strip() == str(tuple(map(int, version.split(".")))):
            return candidate
    raise Skipped(f"there is no Python {version} on this machine, in PATH or of pyenv")


def environment(version: str, numpy: str) -> Path:
    """The Python of an environment with diopigen, its tests' needs and a version of NumPy. Raises `Skipped`."""
    base = interpreter(version)
    folder = WORK / "pythons" / f"{version}-numpy{numpy}"
    python = folder / "bin/python"
    ready = folder / "ready"
    needs = sorted(_needs())
    stamp = "\n".join([numpy, *needs])
    if ready.exists() and ready.read_text(encoding="utf-8") == stamp:
        return python
    log = WORK / "logs" / f"python-{version}-numpy{numpy}.log"
    install = [str(python), "-m", "pip", "install", "--disable-pip-version-check", f"numpy=={numpy}.*", *needs]
    for command in ([str(base), "-m", "venv", "--clear", str(folder)], install):
        if run_logged(command, log) != 0:
            raise Skipped(
                f"the package index has not all of this for Python {version}: {log.relative_to(WORK.parents[1])}"
            )
    ready.write_text(stamp, encoding="utf-8")
    return python


def _needs() -> set[str]:
    """Requirements of diopigen itself, and of its tests, as pyproject.toml has them."""
    needs = set()
    for requirement in importlib.metadata.requires("diopigen") or ():
        name = re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if (extra is None and name != "numpy") or (
            extra and extra[1] == "dev" and name.replace("-", "_") in _TESTS_NEED
        ):
            needs.add(re.sub(r"\s*(and\s+)?extra == ['\"]\w+['\"]", "", requirement).rstrip("; "))
    return needs
