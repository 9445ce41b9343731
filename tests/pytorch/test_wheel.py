"""The package as a wheel in an environment of its own: what PyTorch finds by itself, and what it leaves alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/droplet"
LIBRARIES = ("libtorch_droplet.so", "libdiopi_dispatch.so", "libdiopi_impl.so")
ONES = "print((torch.ones(3, device='droplet') + 1).tolist())"


def succeed(*words: str | Path) -> None:
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.fixture(scope="module")
def wheel(backend: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the package with the libraries that `cmake --preset torch` puts there."""
    source = tmp_path_factory.mktemp("source")
    shutil.copy(EXAMPLE / "pyproject.toml", source)
    shutil.copytree(
        EXAMPLE / "torch_droplet", source / "torch_droplet", ignore=shutil.ignore_patterns("lib", "__pycache__")
    )
    (source / "torch_droplet/lib").mkdir()
    for name in LIBRARIES:
        shutil.copy(backend.torch.parent / name, source / "torch_droplet/lib")
    folder = tmp_path_factory.mktemp("wheel")
    succeed(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, source)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of what every vendor's package builds on."""
    folder = tmp_path_factory.mktemp("common")
    succeed(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, ROOT / "diopi_torch")
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def python(wheel: Path, common: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment that sees the installed torch, and has the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    succeed(sys.executable, "-m", "venv", "--without-pip", folder)
    made = folder / "bin/python"
    done = subprocess.run(
        [made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True
    )
    own = Path(done.stdout.strip())
    (own / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    succeed(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", own, wheel, common)
    return made


def run(python: Path, folder: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program without anything of this run's environment that leads to the libraries."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DIOPI_", "TORCH_D")) and name != "PYTHONPATH"
    }
    command: list[str | Path] = [python, "-c", f"import torch\n{code}"]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env={**kept, "DIOPI_FALLBACK": "off", **variables}
    )


def test_the_wheel_holds_the_libraries(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"torch_droplet/lib/{name}" for name in LIBRARIES} <= names


def test_torch_finds_the_device_by_itself(python: Path, tmp_path: Path) -> None:
    done = run(python, tmp_path, ONES)
    assert done.stdout == "[2.0, 2.0, 2.0]\n", done.stderr


def test_autoload_can_be_turned_off(python: Path, tmp_path: Path) -> None:
    without = run(python, tmp_path, ONES, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert without.returncode != 0 and "RuntimeError: " in without.stderr and "droplet" in without.stderr
    asked = run(python, tmp_path, f"import torch_droplet\n{ONES}", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert asked.stdout == "[2.0, 2.0, 2.0]\n", asked.stderr
