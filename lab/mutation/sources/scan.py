"""Reads all sources of a library with libclang, and keeps the places that can be changed until a file changes."""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diopigen.diagnostics import failure
from diopigen.header.libclang import ERROR, FOR_SERIALIZATION, INCOMPLETE, KEEP_GOING, load
from lab.mutation.sources import operators, points
from lab.mutation.sources.build import Tree, Unit
from lab.mutation.sources.model import Point
from lab.mutation.sources.operators import Source

Progress = Callable[[int, int], None]
"""Called after each unit with the number read and the number of all."""


class Scan:
    """Content of a tree's sources: changes by file, and the headers of the tree that each unit includes."""

    def __init__(
        self, tree: Tree, files: Mapping[str, bytes], units: Sequence[Unit], progress: Progress | None
    ) -> None:
        """Reads `units` and the headers that they include. Raises `Failure` for sources that libclang refuses."""
        self.points: list[Point] = []
        self.includes: dict[str, tuple[str, ...]] = {}
        self._known: set[str] = set()
        keep = tree.folder / "scan"
        keep.mkdir(parents=True, exist_ok=True)
        reader = _Reader(tree, files)
        for number, unit in enumerate(units, 1):
            cached = keep / f"{_state(unit, files)}.json"
            record: dict[str, Any] | None = json.loads(cached.read_text()) if cached.is_file() else None
            # The places of a header are in the record of the first unit that includes it, which may do so no more.
            if record is None or not self._known.issuperset(record.get("elsewhere", ())):
                record = reader.read(unit, self._known)
                cached.write_text(json.dumps(record))
            self.includes[unit.path] = tuple(record["includes"])
            self._take(record)
            if progress is not None:
                progress(number, len(units))

    def _take(self, record: Mapping[str, Any]) -> None:
        """Headers come with the first unit that includes them."""
        found = [Point(**entry) for entry in record["points"]]
        for file in {point.file for point in found} - self._known:
            self.points += [point for point in found if point.file == file]
        self._known |= {str(file) for file in record["includes"]}


def _state(unit: Unit, files: Mapping[str, bytes]) -> str:
    """A digest over a unit, all headers that it could include, and what reads them."""
    digest = hashlib.blake2b(digest_size=16)
    for module in (points, operators):
        digest.update(Path(str(module.__file__)).read_bytes())
    digest.update(repr((unit.path, [word for word in unit.command if word.startswith(("-D", "-std"))])).encode())
    for name, content in sorted(files.items()):
        if name.endswith(".h") or name == unit.path:
            digest.update(name.encode() + hashlib.blake2b(content).digest())
    return digest.hexdigest()


class _Reader:
    """Reads units, after a header with the standard library that is read only once."""

    def __init__(self, tree: Tree, files: Mapping[str, bytes]) -> None:
        self.tree, self.files = tree, files
        self.system: list[str] | None = None
        self.index = None
        self.prelude: Path | None = None

    def read(self, unit: Unit, known: Set[str]) -> dict[str, Any]:
        """The points of a unit and its headers, and which headers these are; points of `known` headers are left out."""
        cindex = load()
        if self.index is None:
            self.index = cindex.Index.create(True)
            self.system = _system_folders(unit)
        arguments = self._arguments(unit)
        if self.prelude is None:
            self.prelude = self._read_prelude(arguments)
        root = self.tree.root
        path = str(root / unit.path)
        assert self.index is not None
        parsed = self.index.parse(path, args=[*arguments, "-include-pch", str(self.prelude)], options=KEEP_GOING)
        # The intrinsics of another compiler may be beyond libclang: they are no part of what is changed.
        severe = [found for found in parsed.diagnostics if found.severity >= ERROR]
        wrong = [str(one) for one in severe if one.location.file and _below(root, one.location.file.name) in self.files]
        if wrong:
            raise failure("mutant-source", f"libclang does not read {unit.path}: {wrong[0]}")
        names = {path: unit.path} if unit.path in self.files else {}
        includes = set()
        for found in parsed.get_includes():
            name = _below(root, found.include.name)
            if name in self.files:
                includes.add(name)
                if name not in known:
                    names[found.include.name] = name
        sources = {spelled: Source(self.files[name]) for spelled, name in names.items()}
        found_points = [asdict(point) for point in points.points_of(parsed.cursor, sources, names)]
        return {"includes": sorted(includes), "elsewhere": sorted(includes & known), "points": found_points}

    def _arguments(self, unit: Unit) -> list[str]:
        retained = [word for word in unit.command[1:] if word.startswith(("-I", "-D", "-std"))]
        pairs = itertools.pairwise(unit.command)
        retained += [f"-isystem{folder}" for option, folder in pairs if option == "-isystem"]
        assert self.system is not None
        return [*retained, "-x", "c++", "-nostdinc", "-nostdinc++", *(f"-isystem{folder}" for folder in self.system)]

    def _read_prelude(self, arguments: Sequence[str]) -> Path:
        """The headers of the standard library that sources include, read once."""
        header = self.tree.folder / "scan" / "prelude.h"
        header.write_bytes(self.tree.prelude)
        assert self.index is not None
        parsed = self.index.parse(str(header), args=list(arguments), options=INCOMPLETE | FOR_SERIALIZATION)
        target = header.with_suffix(".pch")
        parsed.save(str(target))
        return target


def _below(root: Path, path: str) -> str:
    try:
        return str(Path(path).resolve().relative_to(root))
    except ValueError:
        return ""


def _system_folders(unit: Unit) -> list[str]:
    """The folders in which the compiler of a unit looks for standard headers."""
    command = [unit.command[0], "-E", "-x", "c++", "-", "-v"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    listed = done.stderr.partition("#include <...> search starts here:")[2].partition("End of search list")[0]
    return [str(Path(line.strip()).resolve()) for line in listed.splitlines() if line.strip()]
