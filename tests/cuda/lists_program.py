"""Operators over lists whose members share memory: `lists_program.py RUNTIME LIBRARY FILE`.

An array that is named twice is one tensor, so that members depend on each other. FILE gets what the arrays hold
afterwards.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from cpu_library import SUCCESS
from random_program import AnyLibrary

from diopigen.console import Session

ROOT = Path(__file__).parents[2]
Array = np.ndarray[Any, Any]


class SharingLibrary(AnyLibrary):
    """A library that sees an array as one tensor, however often a call names it."""

    def wrap(self, array: Array, keep: list[Any], device: int = 1) -> ctypes.c_void_p:
        """The tensor of an array that has come before, or a new one."""
        if id(array) not in self.tensors:
            self.tensors[id(array)] = (super().wrap(array, keep, device), array)
        return self.tensors[id(array)][0]

    def call(self, name: str, *values: Any) -> None:
        """Runs a function and brings back what the arrays hold."""
        self.tensors: dict[int, tuple[ctypes.c_void_p, Array]] = {}
        keep: list[Any] = []
        arguments: list[Any] = [self.context]
        function = self.functions[name]
        for param, value in zip(function.params, values, strict=True):
            arguments.append(self.argument(function, param, value, keep, [], [], 1))
        assert getattr(self.library, name)(*arguments) == SUCCESS, self.library.diopiGetLastErrorString().decode()
        for handle, array in self.tensors.values():
            self.copy("diopiHostCopyFromStorage", handle, array)


def members() -> list[Array]:
    """Of several lengths, one of them longer than a chunk."""
    generator = np.random.default_rng(3)
    return [generator.standard_normal(count).astype(np.float32) for count in (3000, 3000, 3000, 5, 0, 700)]


def main() -> None:
    interface = Session(str(ROOT / "specs")).load().interface
    library = SharingLibrary(Path(sys.argv[1]), Path(sys.argv[2]), interface)
    chain = members()
    others = [np.zeros_like(array) for array in chain[3:]]
    # What the first member writes is what the second reads.
    library.call("diopiForeachaddScalar", [*chain[1:3], *others], [*chain[:2], *chain[3:]], 5, 1.5)
    scaled = [*members(), np.ones(9, np.float64), np.ones(70, np.float16)]
    infinite = np.zeros(1, np.float32)
    library.call(
        "diopiAmpForeachNonFiniteCheckAndUnscaleInp", scaled, len(scaled), infinite, np.array([0.5], np.float32)
    )
    norms = [np.zeros((), np.float32) for _ in scaled[:-1]] + [np.zeros((), np.float16)]
    norms[-2] = np.zeros((), np.float64)
    library.call("diopiForeachnormScalar", norms, scaled, len(scaled), 2.0)
    found = {f"chain/{k}": array for k, array in enumerate(chain)}
    found |= {f"others/{k}": array for k, array in enumerate(others)}
    found |= {f"scaled/{k}": array for k, array in enumerate(scaled)}
    found |= {f"norms/{k}": array for k, array in enumerate(norms)}
    np.savez(sys.argv[3], allow_pickle=False, infinite=infinite, **found)


if __name__ == "__main__":
    main()
