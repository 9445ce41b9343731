"""The table of a chip, as a C++ header over `diopigen_kernels/chip.h`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from diopigen.chip.model import Chip, NativeOperator
from diopigen.emit.c_text import COLUMNS, call_lines, wrapped
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render

TEMPLATE = "chip/chip.h.j2"


def emit_chip(chip: Chip, templates: Path, command: str) -> Plan:
    """`NAME_chip.h` with the namespace NAME; `command` is the one that the banner names."""
    dtypes = _constants("kDtypes", chip.dtypes, (one.dtypes for one in chip.operators))
    layouts = _constants("kLayouts", (), (one.layouts for one in chip.operators))
    source = Path(chip.file).name  # and no more of the path: a file says the same wherever it was made
    values = {
        "name": chip.name,
        "about": wrapped(f"What {chip.name} can do. {chip.doc.strip()}", " * ", " * "),
        "command": command,
        "source": source,
        "guard": f"DIOPIGEN_CHIP_{chip.name.upper()}_CHIP_H_",
        "constants": [
            *(_constant(name, (f"diopi_dtype_{word}" for word in words)) for words, name in dtypes.items()),
            *(_constant(name, (f"diopigen::kernels::{word}" for word in words)) for words, name in layouts.items()),
        ],
        "operators": [_operator(one, dtypes, layouts) for one in chip.operators],
        "chip": _chip(chip),
    }
    content = render(templates, TEMPLATE, values)
    return Plan((PlannedFile(f"{chip.name}_chip.h", content, (source, f"templates/{TEMPLATE}"), "chip"),))


def _constants(name: str, first: tuple[str, ...], others: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Lists of words, each with the constant that stands for it; lists of the same words share one."""
    found = {_sorted(first): name} if first else {}
    for words in others:
        if words:
            found.setdefault(_sorted(words), f"{name}{len(found)}" if found else name)
    return found


def _sorted(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(words))


def _constant(name: str, words: Iterable[str]) -> str:
    """A mask, laid out as clang-format would: on one line, with the call below the name, or with its arguments there,
    where that saves a line."""
    head, call, listed = f"inline constexpr uint32_t {name} =", "diopigen::kernels::maskOf", list(words)
    one_line = f"{head} {call}({', '.join(listed)});"
    if len(one_line) <= COLUMNS:
        return one_line
    call_below = f"{head}\n{call_lines(f'    {call}', listed, ';')}".splitlines()
    arguments_below = [f"{head} {call}(", *wrapped(f"{', '.join(listed)});", "    ", "    ")]
    return "\n".join(arguments_below if len(arguments_below) < len(call_below) else call_below)


def _operator(one: NativeOperator, dtypes: dict[tuple[str, ...], str], layouts: dict[tuple[str, ...], str]) -> str:
    takes = dtypes[_sorted(one.dtypes)] if one.dtypes else "0"
    lies = layouts[_sorted(one.layouts)] if one.layouts else "0"
    alignment = f", {one.alignment}" if one.alignment else ""
    return f'{{"{one.name}", {takes}, {lies}, {one.max_rank or 0}{alignment}}},'


def _chip(chip: Chip) -> str:
    memory = str(chip.memory or 0)
    listed = "kOperators" if chip.operators else "nullptr"
    values = [f'"{chip.name}"', "kDtypes", str(chip.max_rank), str(chip.alignment), memory, listed]
    return f"inline constexpr diopigen::kernels::Chip kChip = {{{', '.join([*values, str(len(chip.operators))])}}};"
