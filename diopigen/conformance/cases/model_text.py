"""The text of a model table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diopigen.conformance.cases.aten_calls import Row
from diopigen.ir.recipe import Drawn, TensorRecipe

_HEAD = """\
# yaml-language-server: $schema=../../generated/schema/model.schema.json
"""


def table_text(
    name: str,
    doc: str,
    torch: str,
    source: str,
    rows: Sequence[tuple[Row, int]],
    unmapped: Mapping[tuple[str, str, str], int],
    views: Mapping[tuple[str, str], int],
    allocations: Mapping[tuple[str, str], int],
) -> str:
    """The whole file, with `source` as what wrote it. Calls are in the order of their first use."""
    lines = [f"# Written by {source}.", f"model: {name}", f"doc: {_quoted(doc)}", f"torch: {_quoted(torch)}"]
    lines += ["calls:" if rows else "calls: []", *(f"  - {row_text(row, count)}" for row, count in rows)]
    lines.append("unmapped:" if unmapped else "unmapped: []")
    lines += [
        f"  - {{phase: {phase}, aten: {_name(overload)}, count: {count}, why: {_quoted(why)}}}"
        for (phase, overload, why), count in unmapped.items()
    ]
    for title, counts in (("views", views), ("allocations", allocations)):
        lines.append(f"{title}:" if counts else f"{title}: []")
        lines += [
            f"  - {{phase: {phase}, aten: {overload}, count: {count}}}" for (phase, overload), count in counts.items()
        ]
    return _HEAD + "\n".join(lines) + "\n"


def _name(overload: str) -> str:
    return _quoted(overload) if ":" in overload else overload


def row_text(row: Row, count: int) -> str:
    """A call in one line."""
    arguments = ", ".join(f"{name}: {_value(value)}" for name, value in row.arguments.items())
    reduced = f"scale: reduced, why: {_quoted(row.why)}, " if row.why else ""
    return (
        f"{{phase: {row.phase}, function: {row.function}, dtype: {row.dtype}, count: {count}, "
        f"aten: {_name(row.aten)}, {reduced}arguments: {{{arguments}}}}}"
    )


def _value(value: Any) -> str:
    if isinstance(value, TensorRecipe):
        return _tensor(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _number(value) if isinstance(value, (int, float)) else str(value)


def _number(value: int | float) -> str:
    """A number that YAML 1.1 and 1.2 read as what it is: exponents need a point."""
    text = repr(value)
    if isinstance(value, float) and "e" in text and "." not in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}.0e{exponent}"
    return text


def _tensor(value: TensorRecipe) -> str:
    shape = "[" + ", ".join(map(str, value.shape)) + "]"
    plain = value.dtype is None and value.values == Drawn("normal")
    if plain:
        return shape
    parts = [f"shape: {shape}"]
    if value.dtype is not None:
        parts.append(f"dtype: {value.dtype}")
    if value.values != Drawn("normal"):
        if not isinstance(value.values, Drawn):
            parts.append(f"values: {_value(value.values)}")
            return "{" + ", ".join(parts) + "}"
        numbers = ", ".join(_number(number) for number in value.values.arguments)
        parts.append(
            "values: " + (f"'{value.values.distribution}({numbers})'" if numbers else value.values.distribution)
        )
    return "{" + ", ".join(parts) + "}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
