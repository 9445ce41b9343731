"""`diopi.json`: the resolved interface for other tools, and what `diopigen breaking` compares against."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.prose import default_text, dtype_text, shape_text
from diopigen.header.signature import c_function, c_interface
from diopigen.ir.model import Constraint, DtypeList, Function, Interface, Kernel, Latitude, Parameter
from diopigen.spec.expression import to_text

TARGET = "json"
DRAFTS = True
FORMAT = 1


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """Keys whose value says something: absent means false, empty or none."""
    return {key: value for key, value in values.items() if value not in (None, False, "", [], {})}


def _param(param: Parameter, c_type: str) -> dict[str, Any]:
    dtypes = list(param.dtype.dtypes) if isinstance(param.dtype, DtypeList) else []
    entry = {
        "name": param.name,
        "type": param.type,
        "direction": param.direction,
        "c_type": c_type,
        "dtypes": dtypes,
        "dtype_rule": "" if dtypes else dtype_text(param),
        "shape": shape_text(param),
        "nullable": param.nullable,
        "free": list(param.free),
        "count": param.count,
        "values": list(param.values),
        "unnamed": param.unnamed,
        "sparse": param.sparse,
        "shares": param.shares,
        "unordered": _unordered(param),
        "ties": _ties(param),
        "elements": _elements(param),
        "doc": param.doc,
    }
    found = _without_empty(entry)
    if param.default is not None:
        value = param.default.value
        # JSON has no infinity.
        plain = not (isinstance(value, float) and math.isinf(value))
        found["default"] = default_text(param) if not plain else list(value) if isinstance(value, tuple) else value
    return found


def _unordered(param: Parameter) -> dict[str, Any]:
    if param.unordered is None:
        return {}
    return {"where": to_text(param.unordered.where.expression), "along": param.unordered.along}


def _elements(param: Parameter) -> dict[str, Any]:
    held = param.elements
    if held is None:
        return {}
    other = held.in_place
    found = {
        "count": to_text(held.count.expression),
        "of": held.of,
        "on": "" if held.on is None else to_text(held.on.expression),
        "in_place": {} if other is None else {"buffer": other.buffer, "offset": to_text(other.offset.expression)},
    }
    return _without_empty(found)


def _ties(param: Parameter) -> dict[str, Any]:
    if param.ties is None:
        return {}
    of = {"of": param.ties.of, "along": param.ties.along} if param.ties.of else {}
    return {"where": to_text(param.ties.where.expression), **of}


def _latitude(latitude: Latitude | None) -> dict[str, Any]:
    if latitude is None:
        return {}
    formulas = {"terms": latitude.terms, "free": latitude.free}
    found: dict[str, Any] = {key: to_text(one.expression) for key, one in formulas.items() if one is not None}
    if isinstance(latitude.dtypes, DtypeList):
        found["dtypes"] = list(latitude.dtypes.dtypes)
    return found


def _constraint(constraint: Constraint) -> dict[str, Any]:
    found = {"id": constraint.id, "note": constraint.note, "error": constraint.error}
    if constraint.require is not None:
        found["require"] = to_text(constraint.require.expression)
        found["checked"] = f"by {constraint.checked}"
    return _without_empty(found)


def _kernel(kernel: Kernel | None) -> dict[str, Any]:
    if kernel is None:
        return {}
    found = {
        "let": {name: to_text(formula.expression) for name, formula in kernel.lets},
        "results": {name: to_text(formula.expression) for name, formula in kernel.results},
    }
    return _without_empty(found)


def _function(function: Function) -> dict[str, Any]:
    declared = c_function(function)
    own = declared.params[1:] if function.context else declared.params
    entry = {
        "name": function.name,
        "operator": function.operator,
        "variant": function.variant,
        "family": function.family,
        "doc": function.doc,
        "returns": declared.returns,
        "context": function.context,
        "linkage": "weak" if function.weak else "strong",
        "params": [_param(param, c.type) for param, c in zip(function.params, own, strict=True)],
        "kernel": _kernel(function.kernel),
        "constraints": [_constraint(constraint) for constraint in function.constraints],
        "aten": [overload.name for overload in function.aten],
        "aten_constants": {
            overload.name: {name: constant.value for name, constant in overload.constants.items()}
            for overload in function.aten
            if overload.constants
        },
        "backward_of": function.backward_of,
        "tolerance": function.tolerance,
        "unspecified": list(function.unspecified),
        "latitude": _latitude(function.latitude),
        "work": {name: to_text(formula.expression) for name, formula in function.work},
        "since": function.since,
        "deprecated": function.deprecated,
        "source": function.source,
    }
    return _without_empty(entry)


def document(interface: Interface) -> dict[str, Any]:
    """The interface as plain values: what `diopi.json` holds."""
    return {
        "format": FORMAT,
        "version": str(interface.version),
        "macros": dict(c_interface(interface).macros),
        "enums": [
            {"name": enum.name, "doc": enum.doc, "values": {value.name: value.value for value in enum.values}}
            for enum in interface.enums
        ],
        "structs": [
            {
                "name": struct.name,
                "doc": struct.doc,
                "size": struct.size,
                "align": struct.align,
                "fields": [{"name": f.name, "c_type": f.c_type, "offset": f.offset} for f in struct.fields],
            }
            for struct in interface.structs
        ],
        "handles": [{"name": h.name, "doc": h.doc, "c_type": h.c_type} for h in interface.handles],
        "dtypes": [{"name": d.name, "enum": d.enum, "bytes": d.bytes, "kind": d.kind} for d in interface.dtypes],
        "dtype_sets": {found.name: list(found.dtypes) for found in interface.dtype_sets},
        "headers": [
            {
                "file": header.file,
                "doc": header.doc,
                "includes": list(header.includes),
                "functions": [_function(function) for function in header.functions],
            }
            for header in interface.headers
        ],
        "device_functions": [
            {
                "name": function.name,
                "doc": function.doc,
                "returns": function.returns,
                "params": [{"name": p.name, "c_type": p.c_type} for p in function.params],
                "register": function.register,
                "linked_name": function.linked_name,
                "missing_error": function.missing_error,
            }
            for function in interface.device_functions
        ],
    }


def emit(interface: Interface, templates: Path) -> Plan:
    """`diopi.json`."""
    text = json.dumps(document(interface), indent=1, ensure_ascii=False) + "\n"
    inputs = tuple(file for file in interface.files if not file.startswith("specs/aten/"))
    return Plan((PlannedFile("diopi.json", text.encode(), inputs, TARGET),))
