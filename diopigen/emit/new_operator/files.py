"""The files that a new operator is begun with, next to its entry: oracle, kernels and a test that fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen.emit.entry.functions import arguments_name, kernel_name
from diopigen.emit.templates import render
from diopigen.ir.model import Function

ORACLES = "diopigen/conformance/oracles"
TESTS = "tests/conformance"

KERNEL = {"cpu": "cpp", "cuda": "cu"}
"""The suffix of a kernel's source by library."""


@dataclass(frozen=True, slots=True)
class Location:
    """Something that a person writes: the path, with a line where the file has more, and what."""

    path: str
    what: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A new operator: its functions that need a kernel, where its entry is, and the folders of its kernels by library.
    `entry` has the path and line."""

    name: str
    functions: tuple[Function, ...]
    entry: str
    folders: Mapping[str, str]
    oracle: str
    """The path of its oracle; empty where the expression is one."""

    @property
    def stem(self) -> str:
        """Names of its files."""
        return kernel_name(self.functions[0])

    @property
    def is_elementwise(self) -> bool:
        """Returns whether oracle and kernels follow from an expression."""
        return self.functions[0].kernel is not None

    @property
    def kernels(self) -> Mapping[str, str]:
        """The paths of its kernels, by library."""
        if self.is_elementwise:
            return {}
        return {library: f"{folder}/{self.stem}.{KERNEL[library]}" for library, folder in self.folders.items()}

    @property
    def locations(self) -> tuple[Location, ...]:
        """Files to write, in order."""
        found = [Location(self.entry, "the entry: doc, source, cases" + (", kernel" if self.is_elementwise else ""))]
        if self.oracle:
            found.append(Location(self.oracle, "the oracle"))
        return (*found, *(Location(path, f"the {library.upper()} kernel") for library, path in self.kernels.items()))


def path_of_test(begun: Begun) -> str:
    """The path of the test of a new operator."""
    return f"{TESTS}/test_{begun.stem}.py"


def files_of(operators: Sequence[Begun], templates: Path) -> dict[str, bytes]:
    """The files by path. `operators` has the new operator, then its gradients; one test is about all of them."""
    files: dict[str, bytes] = {}
    for begun in operators:
        headers = sorted(["diopi_core/error.h", f"{begun.functions[0].family}.h"])
        own = {"name": begun.name}
        if begun.oracle:
            files[begun.oracle] = render(templates, "new_operator/oracle.py.j2", {**own, "stem": begun.stem})
        for path in begun.kernels.values():
            kernels = [(kernel_name(function), arguments_name(function)) for function in begun.functions]
            files[path] = render(
                templates, "new_operator/kernel.cpp.j2", {**own, "headers": headers, "kernels": kernels}
            )
    path = path_of_test(operators[0])
    about = {"name": operators[0].name, "path": path, "operators": operators}
    files[path] = render(templates, "new_operator/test.py.j2", about)
    return files
