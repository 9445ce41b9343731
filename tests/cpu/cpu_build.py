"""How the tests build the runtime and the CPU library: with the build description that users build them with.

The libraries stay in build/tests, so that the workers of pytest-xdist and later runs share them: a build with nothing
to do takes a moment.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "build/tests"
FLAVOUR = "DIOPI_CPU_TEST_BUILD"
"""Chooses the flavour of the libraries that the tests run over: plain where it is not set."""
_CHECKS = "-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
FLAVOURS: Mapping[str, Sequence[str]] = {
    "plain": ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -DDIOPI_CPU_ONE_ARCH"),
    "sanitized": ("-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_CXX_FLAGS_DEBUG={_CHECKS}"),
    "released": ("-DCMAKE_BUILD_TYPE=Release",),
}
"""Options by flavour. What is released clones its loops for several processors, which takes three times as long to
compile: `make test` does without, `make conformance` runs the same tests over it."""
SANITIZED = "DIOPI_CPU_TEST_LIBRARIES"
"""Set in the child process that runs these tests again over libraries built with the sanitizers."""


def run_checked(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
    finished = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        env=None if environment is None else dict(environment),
    )
    assert finished.returncode == 0, f"{command}\n{finished.stdout[-8000:]}"


def _tool(name: str) -> str:
    """A tool of the environment that the tests run in, else the one of the machine."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[Path]:
    """Lets one process at a time work in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def write_generated(interface: Interface) -> Path:
    """The folder with headers and loops as this checkout generates them. Files that are right are left alone, so that
    nothing is compiled for their sake."""
    where = api.workspace(str(ROOT / "specs"), str(ROOT / "templates"))
    with only_one(SHARED / "generated") as folder:
        files = {
            folder / path: content
            for path, content in api.plan(interface, where, Sink(), ["headers", "cpu", "cuda"]).items()
        }
        for stale in set(folder.rglob("*.[ch]*")) - set(files):
            stale.unlink()
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
    return folder


def shared_libraries(generated: Path, flavour: str = "") -> tuple[Path, Path]:
    """The runtime and the library, built by whoever comes first; as `flavour` or the environment says."""
    flavour = flavour or chosen()
    with only_one(SHARED / flavour) as folder:
        return build_libraries(generated, folder, flavour)


def chosen() -> str:
    """The flavour of this run."""
    return os.environ.get(FLAVOUR, "plain")


def build_libraries(generated: Path, output: Path, flavour: str) -> tuple[Path, Path]:
    """libdiopirt.so and libdiopi_impl.so in `output`, in a flavour of `FLAVOURS`."""
    # Relative paths, so that a compiler cache knows the files of another checkout too.
    environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    options = [
        f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={output}",
        *FLAVOURS[flavour],
        *(["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []),
    ]
    folders = {
        "runtime": [f"-DDIOPIGEN_INCLUDE_DIR={generated / 'include'}"],
        "impl/cpu": [
            f"-DDIOPIGEN_GENERATED_DIR={generated}",
            f"-DDIOPIGEN_SANITIZE={'ON' if flavour == 'sanitized' else 'OFF'}",
        ],
    }
    for folder, own in folders.items():
        build = output / "build" / folder
        run_checked([_tool("cmake"), "-S", ROOT / folder, "-B", build, *options, *own], environment)
        run_checked([_tool("cmake"), "--build", build, "--parallel", "2"], environment)
    return output / "libdiopirt.so", output / "libdiopi_impl.so"
