"""`dlinfer/diopi.py`: the module of a vendor of dlinfer, whose operators call those of `torch.ops.diopi`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.emit.torch.binding import BindingError
from diopigen.emit.torch.custom import custom_operator, operator_name
from diopigen.emit.wrapping import wrapped
from diopigen.ir.dlinfer_model import DlinferOperator
from diopigen.ir.model import Function, Interface

TARGET = "dlinfer"
_TEMPLATE = "dlinfer/module.py.j2"
_COLUMNS = 116


def emit(interface: Interface, templates: Path) -> Plan:
    """The module; nothing where the spec has no file about dlinfer."""
    table = interface.dlinfer
    if not table.release:
        return Plan(())
    operators = [{"head": _head(one), "lines": _lines(interface, one)} for one in table.operators]
    content = render(templates, _TEMPLATE, {"release": table.release, "operators": operators})
    inputs = tuple(name for name in interface.files if not name.startswith("specs/models/"))
    return Plan((PlannedFile("dlinfer/diopi.py", content, (*inputs, f"templates/{_TEMPLATE}"), TARGET),))


def arguments_of(interface: Interface, function: Function, expressions: Mapping[str, str]) -> dict[str, str | None]:
    """Arguments of the operator of a function, without those that have a default: expressions, "None" for a tensor that
    may be null, None for what is missing. Raises `BindingError` where `torch.ops.diopi` has no operator for it."""
    if function.aten:
        raise BindingError("is reached by overloads of ATen")
    arguments: dict[str, str | None] = {}
    for one in custom_operator(interface, function).arguments:
        if one.name in expressions:
            arguments[one.name] = expressions[one.name]
        elif one.default is None:
            arguments[one.name] = "None" if one.param.nullable else None
    return arguments


def _lines(interface: Interface, entry: DlinferOperator) -> list[str]:
    lines = [f'require({condition}, "{entry.name}", "{text}")' for condition, text in entry.require.items()]
    lines += [f"{variable} = {value}" for variable, value in entry.before.items()]
    function = interface.function(entry.function)
    if function is None:
        return [*lines, f"return {entry.returns}"]
    items = [f"{name}={value}" for name, value in arguments_of(interface, function, entry.arguments).items()]
    call = f"operators.{operator_name(function)}({', '.join(items)})"
    if entry.returns == "result":
        return [*lines, *_broken(f"return {call}", items)]
    assigned = "result = " if re.search(r"\bresult\b", entry.returns) else ""
    return [*lines, *_broken(f"{assigned}{call}", items), f"return {entry.returns}"]


def _broken(line: str, items: Sequence[str]) -> list[str]:
    """The line, or its items on lines of their own where it is too long."""
    if len(line) <= _COLUMNS:
        return [line]
    return [line[: line.index("(") + 1], *(f"    {item}," for item in items), ")"]


def _head(entry: DlinferOperator) -> list[str]:
    line = f"def {entry.name}({', '.join(entry.parameters)}):"
    if len(line) <= _COLUMNS:
        return [line]
    return [f"def {entry.name}(", *(f"    {text}" for text in wrapped(", ".join(entry.parameters), _COLUMNS)), "):"]
