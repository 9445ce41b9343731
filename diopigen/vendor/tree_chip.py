"""The chip of a vendor's tree: its file, the table that launches are held to, and the kernels that follow from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from diopigen.api import Workspace
from diopigen.chip.model import Chip
from diopigen.chip.reader import parse_chip
from diopigen.diagnostics import Sink
from diopigen.emit.chip.header import emit_chip
from diopigen.emit.elementwise import kernels as elementwise
from diopigen.emit.plan import Plan
from diopigen.emit.vendor import library_kernels
from diopigen.emit.vendor.skeleton import Operator
from diopigen.emit.vendor.tree import CHIP_FOLDER, chip_file, default_chip
from diopigen.ir.model import Interface
from diopigen.spec.text_file import read_text

GENERATED_FOLDERS = (elementwise.FOLDER, library_kernels.FOLDER)
"""The folders below impl/NAME with kernels that are not the vendor's own."""


@dataclass(frozen=True, slots=True)
class KernelPlans:
    """The functions with elementwise kernels and with first versions of the kernel library, and what is to be written
    by folder of the tree."""

    elementwise: tuple[str, ...]
    library: tuple[str, ...]
    plans: Mapping[str, Plan]

    @property
    def functions(self) -> tuple[str, ...]:
        """All functions with generated kernels."""
        return self.elementwise + self.library


@dataclass(frozen=True, slots=True)
class TreeChip:
    """The chip of a tree, with the content of its file."""

    chip: Chip
    content: bytes

    @property
    def native(self) -> frozenset[str]:
        """The functions that its file lists."""
        return frozenset(operator.name for operator in self.chip.operators)

    def listed(self, operators: Iterable[Operator]) -> tuple[Operator, ...]:
        """The operators; of one that the chip's file lists in part, the functions that it lists."""
        found = []
        for operator in operators:
            selected = tuple(function for function in operator.functions if function.name in self.native)
            found.append(replace(operator, functions=selected or operator.functions))
        return tuple(found)

    def kernels(
        self,
        interface: Interface,
        where: Workspace,
        root: Path,
        requested: Collection[str],
        defined: Collection[str],
        first_versions: Mapping[str, str],
    ) -> KernelPlans:
        """The table, and the kernels of the functions `requested`: elementwise kernels, else first versions.

        Elementwise kernels that a command with other options wrote stay: `defined` are the functions that they are of.
        """
        name = self.chip.name
        plans = {CHIP_FOLDER: emit_chip(self.chip, where.templates, f"diopigen chip {chip_file(name)}")}
        elementwise_command = f"diopigen elementwise impl/{name} --chip {chip_file(name)}"
        command = elementwise_command if self.native else "diopigen scaffold"
        folder = f"impl/{name}/{elementwise.FOLDER}"
        sources = root / folder / "kernels.cpp"
        if sources.is_file() and f"`{command}`" not in read_text(sources, str(sources)):
            computed = tuple(defined)
        else:
            selected = [one for one in elementwise.expressible(interface) if one.name in requested]
            computed = tuple(function.name for function in selected)
            if selected or sources.is_file():
                plans[folder] = elementwise.emit_elementwise(interface, where.templates, name, selected, command)
        called = [
            function
            for function in interface.functions
            if function.name in first_versions and function.name in requested and function.name not in computed
        ]
        folder = f"impl/{name}/{library_kernels.FOLDER}"
        if called or (root / folder).is_dir():
            plans[folder] = library_kernels.emit_library_kernels(
                interface, where.templates, name, called, first_versions
            )
        return KernelPlans(computed, tuple(function.name for function in called), plans)


def read_tree_chip(
    interface: Interface, where: Workspace, vendor: str, root: Path, start: bytes | None, sink: Sink
) -> TreeChip | None:
    """The chip's file of the tree at `root`, or what it starts with: `start`, or a chip that takes everything. None
    where it is in error."""
    name = chip_file(vendor)
    path = root / name
    if path.exists():
        content = read_text(path, name).encode()
    else:
        content = start or default_chip(interface, where.templates, vendor)
    chip = parse_chip(content.decode(), name, interface, sink)
    return None if chip is None else TreeChip(chip, content)
