"""Builds the library that forwards to another one and injects faults on the way."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diopigen.conformance.mutation.forwarding import forwarding
from diopigen.diagnostics import failure
from diopigen.emit.c.headers import emit as emit_headers
from diopigen.ir.model import Interface
from diopigen.package import package_data

LIBRARY_NAME = "libdiopi_mutant.so"
SOURCES = package_data("runtime") / "mutation"
FAULTS = SOURCES / "faults"
HALF = package_data("runtime") / "adaptor/include/diopigen/half.h"
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-fno-math-errno", "-Wall", "-Wextra", "-Werror")


def build(interface: Interface, templates: Path, folder: Path, *, jobs: int = 1, behaviours: Path = FAULTS) -> Path:
    """The library in `folder`, compiled by $CXX, c++, g++ or clang++ unless it is there from the same sources.
    `behaviours` is a folder with the sources of what may happen to a call on its way.

    Raises `Failure` where there is no compiler, or where it refuses the sources.
    """
    files = {"forward.cpp": forwarding(interface.settled(), templates)}
    sources = [path for path in SOURCES.iterdir() if path.is_file()]
    sources += [path for path in behaviours.rglob("*") if path.is_file()]
    for path in sorted(path for path in sources if path.suffix in _KEPT):
        own = path.relative_to(SOURCES if path.parent == SOURCES else behaviours.parent)
        files[str(own)] = path.read_bytes()
    files["include/diopigen/half.h"] = HALF.read_bytes()
    for planned in emit_headers(interface, templates).files:
        files[f"include/{Path(planned.path).parent.name}/{Path(planned.path).name}"] = planned.content
    compiler = _compiler()
    state = hashlib.sha256(repr((compiler, _FLAGS, sorted(files.items()))).encode()).hexdigest()
    library, stamp = folder / LIBRARY_NAME, folder / "state"
    if library.is_file() and stamp.is_file() and stamp.read_text() == state:
        return library
    for name, content in files.items():
        path = folder / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)
    sources = [folder / "source" / name for name in files if name.endswith(".cpp")]
    with ThreadPoolExecutor(jobs) as pool:
        objects = list(pool.map(lambda source: _compiled(compiler, source, folder), sources))
    link = [*compiler, "-shared", "-o", str(library), *map(str, objects), "-ldl"]
    _run(link)
    stamp.write_text(state)
    return library


_KEPT = (".h", ".cpp")


def _compiled(compiler: Sequence[str], source: Path, folder: Path) -> Path:
    root = folder / "source"
    target = folder / "objects" / source.relative_to(root).with_suffix(".o")
    target.parent.mkdir(parents=True, exist_ok=True)
    # The table of wrappers is long and plain: nothing in it is worth the time that optimising takes.
    level = ("-O0", "-Wno-deprecated-declarations") if source.name == "forward.cpp" else ()
    includes = (f"-I{root / 'include'}", f"-I{root}")
    _run([*compiler, *_FLAGS, *level, *includes, "-c", str(source), "-o", str(target)])
    return target


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        text = f"the mutant library does not compile: {shlex.join(command)}\n{done.stderr[-2000:]}"
        raise failure("mutant-build", text, fix="name a compiler of C++17 in CXX")


def _compiler() -> list[str]:
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    found = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    if found is None:
        fix = "install g++ or clang++, or name a compiler in CXX"
        raise failure("mutant-build", "there is no C++ compiler to build the mutant library with", fix=fix)
    cache = shutil.which("ccache")
    return [cache, found] if cache else [found]
