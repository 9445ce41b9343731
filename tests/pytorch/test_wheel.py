"""The package as a wheel in an environment of its own: what PyTorch finds by itself, and what it leaves alone."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch_build

from diopigen import __version__

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/droplet"
LIBRARIES = ("libtorch_droplet.so", "libdiopi_dispatch.so", "libdiopi_impl.so", "diopi_graphs.so")
WHEEL = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--wheel-dir")
ONES = "print((torch.ones(3, device='droplet') + 1).tolist())"


def called(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, words)], capture_output=True, text=True)


def succeed(*words: str | Path) -> None:
    done = called(*words)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.fixture(scope="module")
def wheel(backend: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the package with the libraries that `cmake --preset torch` puts there."""
    source = package(tmp_path_factory.mktemp("source"))
    for name in LIBRARIES:
        shutil.copy(backend.torch.parent / name, source / "torch_droplet/lib")
    folder = tmp_path_factory.mktemp("wheel")
    succeed(*WHEEL, folder, source)
    (made,) = folder.iterdir()
    return made


def package(source: Path) -> Path:
    """The package of a tree, without libraries."""
    source.mkdir(exist_ok=True)
    shutil.copy(EXAMPLE / "pyproject.toml", source)
    (source / "generated").mkdir()
    shutil.copy(ROOT / "runtime/torch/package/torch_wheel.py", source / "generated")
    shutil.copytree(
        EXAMPLE / "torch_droplet", source / "torch_droplet", ignore=shutil.ignore_patterns("lib", "__pycache__")
    )
    (source / "torch_droplet/lib").mkdir()
    return source


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of what every vendor's package builds on."""
    folder = tmp_path_factory.mktemp("common")
    succeed(*WHEEL, folder, ROOT / "diopi_torch")
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
    (own / "shared.pth").write_text(f"{importlib.metadata.distribution('torch').locate_file('')}\n")
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


def test_the_wheel_is_named_after_what_its_libraries_were_built_for(wheel: Path) -> None:
    torch = ".".join(importlib.metadata.version("torch").split(".")[:2])
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name == f"torch_droplet-0.1.0+torch{torch}-{python}-{python}-{machine}.whl"
    metadata = zipfile.ZipFile(wheel).read(f"torch_droplet-0.1.0+torch{torch}.dist-info/METADATA").decode()
    assert re.findall("Requires-Dist: (.*)", metadata) == [f"diopi-torch=={__version__}", f"torch=={torch}.*"]


def test_pip_refuses_the_wheel_for_another_python(wheel: Path, tmp_path: Path) -> None:
    other = ["--python-version", "3.9", "--only-binary", ":all:", "--target", str(tmp_path)]
    done = called(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", *other, wheel)
    assert done.returncode != 0 and f"{wheel.name} is not a supported wheel" in done.stderr


def test_there_is_no_wheel_without_libraries(tmp_path: Path) -> None:
    source = package(tmp_path / "source")
    done = called(*WHEEL, tmp_path, source)
    assert "no libraries: cmake --preset torch && cmake --build --preset torch" in done.stdout + done.stderr
    assert done.returncode != 0 and "Traceback" not in done.stdout + done.stderr


def test_an_sdist_names_what_pip_needs_to_compile_it(tmp_path: Path) -> None:
    source = package(tmp_path / "source")
    (source / "PKG-INFO").write_text(f"Name: torch-droplet\nRequires-Dist: diopi-torch=={__version__}\n")
    needed = "torch_wheel.get_requires_for_build_wheel()"
    code = f"import sys; sys.path.append('generated'); import torch_wheel; print(*{needed}, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    expected = ["cmake>=3.24", f"diopi-torch=={__version__}", f"diopigen=={__version__}"]
    assert done.stdout.splitlines() == expected, done.stderr


@pytest.mark.slow
def test_an_sdist_is_compiled_by_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("diopigen_DIR", str(ROOT / "cmake"))
    tree = tmp_path / "tree"
    torch_build.bring_up(tree)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=tree, check=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    assert sdist.name == "torch_droplet-0.1.0.tar.gz"
    succeed(*WHEEL, tmp_path, sdist)
    (wheel,) = tmp_path.glob("*.whl")
    assert "+torch" in wheel.name
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"torch_droplet/lib/{name}" for name in (*LIBRARIES, "diopi-run")} <= names


@pytest.mark.parametrize(
    ("library", "product", "code"),
    [
        ("libtorch_droplet.so", "torch", "import torch_droplet"),
        ("diopi_graphs.so", "Python", "from diopi_torch import _backend; _backend.extension('diopi_graphs')"),
    ],
)
def test_a_library_for_another_release_is_refused_in_one_sentence(
    python: Path, backend: Any, tmp_path: Path, library: str, product: str, code: str
) -> None:
    for name in LIBRARIES:
        shutil.copy(backend.torch.parent / name, tmp_path)
    content = (tmp_path / library).read_bytes()
    mark = re.compile(rf"(diopigen: built for {product} [0-9]+)\.[0-9][0-9]".encode())
    (tmp_path / library).write_bytes(mark.sub(rb"\1.99", content))
    autoload = "1" if product == "Python" else "0"
    done = run(python, tmp_path, code, TORCH_DEVICE_BACKEND_AUTOLOAD=autoload, TORCH_DROPLET_LIBRARIES=str(tmp_path))
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(
        rf"ImportError: {tmp_path / library} was built for {product} [0-9]\.99, and this is {product} [0-9.]+: .*", last
    )


def test_torch_finds_the_device_by_itself(python: Path, tmp_path: Path) -> None:
    done = run(python, tmp_path, ONES)
    assert done.stdout == "[2.0, 2.0, 2.0]\n", done.stderr


def test_autoload_can_be_turned_off(python: Path, tmp_path: Path) -> None:
    without = run(python, tmp_path, ONES, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert without.returncode != 0 and "RuntimeError: " in without.stderr and "droplet" in without.stderr
    asked = run(python, tmp_path, f"import torch_droplet\n{ONES}", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert asked.stdout == "[2.0, 2.0, 2.0]\n", asked.stderr
