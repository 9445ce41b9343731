"""Builds one library that holds all faults of a sample; those that do not compile are told apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from diopigen.diagnostics import failure
from lab.mutation.sources.build import Rejected, Tree
from lab.mutation.sources.model import Point
from lab.mutation.sources.switches import switched

Say = Callable[[str], None]
_ROUNDS = 12


class Injected:
    """A library with faults by number, and those that no compiler takes."""

    def __init__(self, tree: Tree, files: Mapping[str, bytes], points: Sequence[Point], say: Say) -> None:
        """Builds it in the folder of the tree. Raises `Failure` where a source is refused for no fault's sake."""
        self.tree, self.files = tree, files
        known = self._known_stillborn()
        self.points = {number: point for number, point in enumerate(points) if point.key not in known}
        self.stillborn = [point for point in points if point.key in known]
        units = list(tree.units)
        for attempt in range(_ROUNDS):
            # What is taken out stays in units that take it, where it does no harm: they are not compiled again.
            tree.write(files, self._sources(), quietly=attempt > 0)
            say(f"compiling {len(units)} units with {len(self.points)} faults")
            rejected = tree.compile(units, switched=True)
            if not rejected:
                break
            for one in rejected:
                self._drop(one)
            self._cache.write_text(json.dumps(sorted(point.key for point in self.stillborn)))
            units = [one.unit for one in rejected]
        else:
            raise failure("mutant-build", f"the sources still do not compile after {_ROUNDS} rounds")
        self.library: Path = tree.link(tree.folder / "libdiopi_faults.so")

    @property
    def _cache(self) -> Path:
        return self.tree.folder / "stillborn.json"

    def _known_stillborn(self) -> set[str]:
        """The keys of faults that an earlier run has found not to compile."""
        return set(json.loads(self._cache.read_text())) if self._cache.is_file() else set()

    def _sources(self) -> dict[str, bytes]:
        by_file: dict[str, dict[int, Point]] = {}
        for number, point in self.points.items():
            by_file.setdefault(point.file, {})[number] = point
        return {file: switched(self.files[file], found) for file, found in by_file.items()}

    def _drop(self, rejected: Rejected) -> None:
        """Takes out the faults that a compiler names: those that begin in the line of an error, else those that the
        line is within."""
        for file, line in rejected.positions:
            here = {n: p for n, p in self.points.items() if p.file == file}
            named = [n for n, p in here.items() if p.line == line]
            named = named or [n for n, p in here.items() if p.line <= line <= p.line + p.original.count("\n")]
            if named:
                self.stillborn += [self.points.pop(number) for number in named]
                return self._drop_all(rejected)
        if not any(p.file == file for p in self.points.values() for file, _ in rejected.positions):
            raise failure("mutant-build", f"{rejected.unit.path} does not compile:\n{rejected.text[-2000:]}")
        return None

    def _drop_all(self, rejected: Rejected) -> None:
        """The same for every further place that begins a fault."""
        for position in rejected.positions:
            named = [n for n, p in self.points.items() if (p.file, p.line) == position]
            self.stillborn += [self.points.pop(number) for number in named]
