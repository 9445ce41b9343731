"""The chip of a vendor's tree: its file, the table that launches are held to, and the kernels that follow from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from diopigen.api import Workspace
from diopigen.chip.model import Chip
from diopigen.chip.reader import parse_chip
from diopigen.diagnostics import Sink
from diopigen.emit.chip.header import emit_chip
from diopigen.emit.elementwise.kernels import FOLDER, emit_elementwise, expressible
from diopigen.emit.plan import Plan
from diopigen.emit.vendor.skeleton import Operator
from diopigen.emit.vendor.tree import CHIP_FOLDER, chip_file, default_chip
from diopigen.ir.model import Interface
from diopigen.spec.text_file import read_text


@dataclass(frozen=True, slots=True)
class KernelPlans:
    """The functions that get elementwise kernels, and what is to be written by folder of the tree."""

    functions: tuple[str, ...] = ()
    plans: Mapping[str, Plan] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TreeChip:
    """The chip of a tree. `is_new`: its file is not there yet, and is started with `content`."""

    chip: Chip
    content: bytes
    is_new: bool

    def listed(self, operators: Iterable[Operator]) -> tuple[Operator, ...]:
        """The operators; of one that the chip's file lists in part, the functions that it lists."""
        names = {operator.name for operator in self.chip.operators}
        found = []
        for operator in operators:
            selected = tuple(function for function in operator.functions if function.name in names)
            found.append(replace(operator, functions=selected or operator.functions))
        return tuple(found)

    def kernels(self, interface: Interface, where: Workspace, vendor: str, written: Collection[str]) -> KernelPlans:
        """The table, and where the file is new the elementwise kernels of what it lists; without those that are
        `written` already. Later the command `diopigen elementwise` keeps them up to date."""
        command = f"diopigen chip {chip_file(vendor)}"
        plans = {CHIP_FOLDER: emit_chip(self.chip, where.templates, command)}
        listed = {operator.name for operator in self.chip.operators} if self.is_new else set()
        selected = [one for one in expressible(interface) if one.name in listed and one.name not in written]
        if selected:
            command = f"diopigen elementwise impl/{vendor} --chip {chip_file(vendor)}"
            plans[f"impl/{vendor}/{FOLDER}"] = emit_elementwise(interface, where.templates, vendor, selected, command)
        return KernelPlans(tuple(function.name for function in selected), plans)


def read_tree_chip(
    interface: Interface, where: Workspace, vendor: str, root: Path, start: bytes | None, sink: Sink
) -> TreeChip | None:
    """The chip's file of the tree at `root`, or what it starts with: `start`, or a chip that takes everything. None
    where it is in error."""
    name = chip_file(vendor)
    path = root / name
    is_new = not path.exists()
    content = (start or default_chip(interface, where.templates, vendor)) if is_new else read_text(path, name).encode()
    chip = parse_chip(content.decode(), name, interface, sink)
    return None if chip is None else TreeChip(chip, content, is_new)
