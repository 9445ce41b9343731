"""Shows that a fault is none: the compiler makes the same object code with it and without."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from lab.mutation.sources.build import Tree, Unit
from lab.mutation.sources.model import Point
from lab.mutation.sources.switches import injected

MOST = 12
"""A header that more units include is not tried: most of them would have to be compiled for every fault in it."""


class Equivalence:
    """Compiles units with one fault each, without any switch."""

    def __init__(self, tree: Tree, files: Mapping[str, bytes], includes: Mapping[str, Sequence[str]]) -> None:
        """`tree` is a tree of its own; `includes` are the headers of each unit, by its path."""
        self.tree, self.files, self.includes = tree, files, includes
        self._sound: dict[str, str] = {}

    def shows(self, point: Point) -> bool:
        """Returns whether all units that the fault is part of come out the same."""
        units = [
            unit
            for unit in self.tree.units
            if unit.path == point.file or point.file in self.includes.get(unit.path, ())
        ]
        if not units or len(units) > MOST:
            return False
        unknown = [unit for unit in units if unit.path not in self._sound]
        if unknown:
            self.tree.write(self.files, {})
            if self.tree.compile(unknown, switched=False):
                return False
            self._sound.update({unit.path: self._digest(unit) for unit in unknown})
        self.tree.write(self.files, {point.file: injected(self.files[point.file], point)})
        # One after another: most faults show in the first unit.
        same = all(
            not self.tree.compile([unit], switched=False) and self._digest(unit) == self._sound[unit.path]
            for unit in units
        )
        self.tree.write(self.files, {})
        return same

    def _digest(self, unit: Unit) -> str:
        return hashlib.blake2b(self.tree.object_of(unit).read_bytes()).hexdigest()
