"""Makes the builds that configurations run over, and unpacks the libraries that the machine lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from configurations import CPU_ONLY, DEFAULT, Build

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build/portability"
_PACKAGES = {"SLEEF": ("libsleef-dev", "libsleef3"), "Highway": ("libhwy-dev", "libhwy1")}
"""Debian's packages of the libraries that a build may take."""
_HEADERS = {"SLEEF": "sleef.h", "Highway": "hwy/contrib/sort/vqsort.h"}


class Skipped(Exception):
    """Why a configuration cannot be had on this machine."""


class Broken(Exception):
    """Why a configuration that can be had fails as a whole."""


@dataclass(frozen=True, slots=True)
class Libraries:
    """The library under test and its runtime."""

    library: Path
    runtime: Path


def run_logged(command: list[str], log: Path, environment: dict[str, str] | None = None) -> int:
    """Runs a command whose output goes to the end of a file; its exit status."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        file.write(f"$ {' '.join(command)}\n".encode())
        file.flush()
        done = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False)
    return done.returncode


def unpacked() -> Path | None:
    """A folder with the libraries that the machine lacks, unpacked from its distribution's packages without installing
    them; None where the machine has them all. Raises `Skipped` where they cannot be had."""
    lacking = [name for name, header in _HEADERS.items() if not Path("/usr/include", header).exists()]
    if not lacking:
        return None
    folder = WORK / "packages"
    expected = [package for name in lacking for package in _PACKAGES[name]]
    if all((folder / "usr/include" / _HEADERS[name]).exists() for name in lacking):
        return folder / "usr"
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise Skipped(f"{' and '.join(lacking)} are not installed, and there is no apt-get")
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["apt-get", "download", *expected], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skipped(f"{' and '.join(lacking)} are not installed, and apt-get download does not get them")
    for archive in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(archive), str(folder)], check=True)
    return folder / "usr"


def build(expected: Build, jobs: int) -> Libraries:
    """The libraries of a build, made now where they are not there. Raises `Skipped` or `Broken`."""
    if shutil.which(expected.compiler) is None:
        raise Skipped(f"{expected.compiler} is not installed")
    log = WORK / "logs" / f"build-{expected.name}.log"
    log.unlink(missing_ok=True)
    options = ["-DCMAKE_BUILD_TYPE=Release", *expected.options]
    if expected.compiler != DEFAULT:
        options.append(f"-DCMAKE_CXX_COMPILER={expected.compiler}")
    if shutil.which("ccache"):
        options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    prefix = unpacked() if expected.packages else None
    if prefix:
        options.append(f"-DCMAKE_PREFIX_PATH={prefix}")
    environment = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    for part in ("runtime", *expected.parts):
        folder = _folder(expected, part)
        for command in (
            ["cmake", "-S", str(ROOT / part), "-B", str(folder), "-G", "Ninja", *options],
            ["cmake", "--build", str(folder), "--parallel", str(jobs)],
        ):
            if run_logged(command, log, environment) != 0:
                raise Broken(f"{part} does not build: {log.relative_to(ROOT)}")
    return Libraries(_folder(expected, CPU_ONLY) / "libdiopi_impl.so", _folder(expected, "runtime") / "libdiopirt.so")


def _folder(expected: Build, part: str) -> Path:
    # The runtime is the same with all options of the CPU library.
    name = f"cpu-{expected.name}" if part == CPU_ONLY else f"{Path(part).name}-{expected.compiler}"
    return WORK / name
