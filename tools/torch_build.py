"""droplet with its backend for PyTorch, brought up and built below a folder; what is up to date is left alone.

`make demo-torch` uses it; the tests in tests/pytorch have theirs from the root build. Run it with a Python that has
torch.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/droplet"
SHARED = ROOT / "build/demo-torch"
"""Build folder of the demonstration."""
SPEC = ("--spec", str(ROOT / "specs"))
JOBS = 2
"""Compilers at a time: one may take a GiB."""


PATHS = [str(EXAMPLE), str(ROOT / "diopi_torch/src")]
"""Path of droplet's package for PyTorch, and of its dependencies."""
PYTHONPATH = os.pathsep.join(PATHS)
VARIABLES = ("TORCH_DROPLET_LIBRARIES", "DIOPI_VENDOR_LIBRARY", "DIOPI_REFERENCE_LIBRARY")
"""By which torch_droplet and the dispatch library find their libraries."""


@dataclass(frozen=True)
class Backend:
    """The libraries by path: what PyTorch loads, the vendor's, and the one that runs what the vendor lacks."""

    torch: Path
    vendor: Path
    reference: Path

    def environment(self) -> dict[str, str]:
        """`VARIABLES`, for these libraries."""
        return dict(zip(VARIABLES, map(str, (self.torch.parent, self.vendor, self.reference)), strict=True))


def given() -> Backend | None:
    """The libraries that the environment names, where it names all."""
    if not all(name in os.environ for name in VARIABLES):
        return None
    folder, vendor, reference = (Path(os.environ[name]) for name in VARIABLES)
    return Backend(folder / "libtorch_droplet.so", vendor, reference)


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Lets one process at a time work in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(folder: Path = SHARED) -> Backend:
    """Brings droplet up in `folder` and builds it with its backend. Raises `RuntimeError` with what a failed step
    printed."""
    with only_one(folder):
        stage, tree = folder / "stage", folder / "droplet"
        bring_up(stage)
        settle(stage, tree)
        return compiled(tree, folder)


def located(folder: Path) -> Backend:
    """Folder of the built libraries."""
    build = folder / "build"
    return Backend(build / "libtorch_droplet.so", build / "libdiopi_impl.so", folder / "reference/libdiopi_impl.so")


def bring_up(tree: Path) -> None:
    """The tree as `make demo` makes it."""
    shutil.rmtree(tree, ignore_errors=True)
    diopigen("scaffold", "--vendor", "droplet", "--out", tree, "--ops", "Roll", "--with-torch")
    shutil.copytree(EXAMPLE, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("README.md", "__pycache__"))
    diopigen("elementwise", tree / "impl/droplet", "--chip", tree / "droplet.yaml")
    diopigen("adaptors", tree / "impl/droplet", "--out", tree / "generated/adaptors/droplet")
    diopigen("chip", tree / "droplet.yaml", "--out", tree / "generated/chip")


def settle(stage: Path, tree: Path) -> None:
    """Makes `tree` equal to `stage`, and leaves files alone that are, so that nothing is compiled for their sake."""
    expected = {path.relative_to(stage) for path in stage.rglob("*") if path.is_file()}
    for path in [path for path in tree.rglob("*") if path.is_file() and path.relative_to(tree) not in expected]:
        path.unlink()
    for name in expected:
        target, content = tree / name, (stage / name).read_bytes()
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    shutil.rmtree(stage)


def compiled(tree: Path, folder: Path) -> Backend:
    """The vendor's tree with the backend, and the reference library."""
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    found = located(folder)
    build = found.vendor.parent
    configured(
        tree, build, python, "-DDIOPI_WITH_TORCH=ON", f"-DDIOPI_TORCH_LIBRARIES={build}", f"-Ddiopigen_DIR={ROOT}/cmake"
    )
    make(build, "torch_droplet", "torch_droplet_run", "diopi_impl")
    configured(ROOT / "impl/cpu", found.reference.parent, "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DDIOPI_CPU_ONE_ARCH")
    make(found.reference.parent)
    return found


def configured(source: Path, folder: Path, *options: str) -> None:
    launchers = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    ninja = [f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    run([tool("cmake"), "-S", source, "-B", folder, *ninja, *launchers, *options])


def make(folder: Path, *targets: str) -> None:
    selected = ["--target", *targets] if targets else []
    run([tool("cmake"), "--build", folder, "--parallel", str(JOBS), *selected])


def diopigen(*words: str | Path) -> None:
    """A command of diopigen that must find nothing."""
    run([sys.executable, "-m", "diopigen", *words, *SPEC], {"PYTHONPATH": str(ROOT)})


def tool(name: str) -> str:
    """A tool of the environment that this runs in, else of the checkout's one, else of the machine."""
    for folder in (Path(sys.executable).parent, ROOT / ".venv/bin"):
        if (folder / name).exists():
            return str(folder / name)
    return name


def run(command: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> None:
    words = [str(word) for word in command]
    # Relative paths, so that a compiler cache knows the files of another checkout.
    environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", **(variables or {})}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=3600, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout[-6000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    for name, value in build().environment().items():
        print(f"export {name}={value}")
