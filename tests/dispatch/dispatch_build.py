"""How the tests build the dispatch library and what it stands between."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
INCLUDES = [f"-I{ROOT / 'generated/include'}", f"-I{ROOT / 'runtime/include'}"]


@dataclass(frozen=True)
class Libraries:
    runtime: Path
    dispatch: Path
    vendor: Path
    reference: Path


def build_libraries(folder: Path, *flags: str) -> Libraries:
    """All four libraries, two compilers at a time."""
    found = Libraries(*(folder / f"lib{name}.so" for name in ("diopirt", "diopi_dispatch", "vendor", "reference")))
    common = ["g++", "-std=c++17", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", *(flags or ("-O1",)), *INCLUDES]
    own = ROOT / "runtime/dispatch"
    own_includes = [f"-I{own / 'include'}", f"-I{own / 'src'}", f"-I{ROOT / 'generated/dispatch'}"]
    runtime = sorted((ROOT / "runtime/src").glob("*.cpp"))
    sources = [*sorted((own / "src").glob("*.cpp")), *sorted((ROOT / "generated/dispatch").glob("*.cpp"))]
    device = ROOT / "runtime/src/host_device.cpp"
    script = f"-Wl,--version-script={own / 'libdiopi_dispatch.map'}"
    commands = [
        [*common, *runtime, "-o", found.runtime],
        [*common, "-Wno-deprecated-declarations", *own_includes, *sources, script, "-ldl", "-o", found.dispatch],
        [*common, HERE / "vendor.cpp", device, "-o", found.vendor],
        [*common, HERE / "reference.cpp", "-o", found.reference],
    ]
    for first in range(0, len(commands), 2):
        running = [
            subprocess.Popen(
                [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            for command in commands[first : first + 2]
        ]
        for process in running:
            output, _ = process.communicate(timeout=600)
            assert process.returncode == 0, output[-6000:]
    return found


def clean_environment(libraries: Libraries) -> dict[str, str]:
    """The environment without the switches of this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    named = {"DIOPI_VENDOR_LIBRARY": str(libraries.vendor), "DIOPI_REFERENCE_LIBRARY": str(libraries.reference)}
    return {**kept, **named, "PYTHONPATH": str(ROOT)}
