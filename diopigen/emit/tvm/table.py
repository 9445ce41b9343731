"""`tvm/relax.json`: which packed function computes an operator of Relax, for any compiler pass that replaces them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.tvm.entries import FORMS, as_data, counted, entries, read
from diopigen.emit.tvm_ffi.arguments import is_destination
from diopigen.ir.model import Function, Interface
from diopigen.ir.relax_model import RelaxOperator

TARGET = "tvm"


def emit(interface: Interface, templates: Path) -> Plan:
    """The table; nothing where the spec has no file about Relax."""
    if not interface.relax.release:
        return Plan(())
    operators = entries(interface)
    document = {
        "interface": str(interface.version),
        "tvm": interface.relax.release,
        "forms": FORMS,
        "views": list(interface.relax.views),
        "operators": {name: [_entry(interface, one) for one in found] for name, found in operators.items()},
        "fused": [_without_empty({"doc": one.doc, "match": one.match, "function": one.function,
                                  "operator": one.operator, "where": as_data(one.where),
                                  "shapes": as_data(one.shapes)}) for one in interface.relax.fused],
    }  # fmt: skip
    content = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    inputs = tuple(name for name in interface.files if not name.startswith("specs/models/"))
    return Plan((PlannedFile("tvm/relax.json", content, inputs, TARGET),))


def _entry(interface: Interface, entry: RelaxOperator) -> dict[str, Any]:
    function = interface.function(entry.function)
    assert function is not None, "the rule relax-entry has named it"
    return _without_empty(
        {
            "function": entry.function,
            "arguments": _arguments(function, entry),
            "destinations": [param.name for param in function.params if is_destination(param)],
            "where": as_data(entry.where),
            "ranks": as_data(entry.ranks),
            "merged": entry.merged,
            "returned": list(entry.returned),
            "several": entry.several,
        }
    )


def _arguments(function: Function, entry: RelaxOperator) -> list[Any]:
    """Arguments before the destinations, in order: expressions as texts, and values in a mapping."""
    lists = counted(function)
    found: list[Any] = []
    for param in read(function):
        if param.name in entry.arguments:
            value = entry.arguments[param.name]
            found.append(value if isinstance(value, str) else {"value": value})
        elif param.name in lists:
            found.append({"length": lists[param.name]})
        else:
            default = None if param.default is None else param.default.value
            found.append({"value": as_data(default)})
    return found


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in ("", 0, [], {})}
