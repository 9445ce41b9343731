"""Builds the library that forwards to another one and injects faults on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diopigen.conformance.run.compiler import compile_or_fail, compiler
from diopigen.emit.c import dtypes, headers
from diopigen.ir.model import Interface
from diopigen.package import package_data
from lab.mutation.forwarding import forwarding

LIBRARY_NAME = "libdiopi_mutant.so"
SOURCES = Path(__file__).resolve().parents[1] / "native"
FAULTS = SOURCES / "faults"
ELEMENTS = [package_data("runtime") / f"adaptor/include/diopigen/{name}.h" for name in ("half", "float8")]
_CODE, _PRODUCT = "mutant-build", "the mutant library"
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-fno-math-errno", "-Wall", "-Wextra", "-Werror")


def build(interface: Interface, templates: Path, folder: Path, *, jobs: int = 1, behaviours: Path = FAULTS) -> Path:
    """The library in `folder`, compiled by $CXX, c++, g++ or clang++ unless it is there from the same sources.
    `behaviours` is a folder with the sources of what may happen to a call on its way.

    Raises `Failure` where there is no compiler, or where it refuses the sources.
    """
    files = {"forward.cpp": forwarding(interface.settled())}
    sources = [path for path in SOURCES.iterdir() if path.is_file()]
    sources += [path for path in behaviours.rglob("*") if path.is_file()]
    for path in sorted(path for path in sources if path.suffix in _SUFFIXES):
        own = path.relative_to(SOURCES if path.parent == SOURCES else behaviours.parent)
        files[str(own)] = path.read_bytes()
    for header in ELEMENTS:
        files[f"include/diopigen/{header.name}"] = header.read_bytes()
    for target in (headers, dtypes):
        files.update(target.emit(interface, templates).items())
    words = compiler(_CODE, _PRODUCT)
    state = hashlib.sha256(repr((words, _FLAGS, sorted(files.items()))).encode()).hexdigest()
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
        objects = list(pool.map(lambda source: _compiled(words, source, folder), sources))
    link = [*words, "-shared", "-o", str(library), *map(str, objects), "-ldl"]
    compile_or_fail(link, _CODE, _PRODUCT)
    stamp.write_text(state)
    return library


_SUFFIXES = (".h", ".cpp")


def _compiled(words: Sequence[str], source: Path, folder: Path) -> Path:
    root = folder / "source"
    target = folder / "objects" / source.relative_to(root).with_suffix(".o")
    target.parent.mkdir(parents=True, exist_ok=True)
    # The table of wrappers is long and plain: nothing in it is worth the time that optimising takes.
    level = ("-O0", "-Wno-deprecated-declarations") if source.name == "forward.cpp" else ()
    includes = (f"-I{root / 'include'}", f"-I{root}")
    command = [*words, *_FLAGS, *level, *includes, "-c", str(source), "-o", str(target)]
    compile_or_fail(command, _CODE, _PRODUCT)
    return target
