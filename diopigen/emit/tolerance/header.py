"""`include/diopigen/tolerance.h`: the bounds of `contract/tolerance.py`, and the tolerance class of each function.

`tolerance/tolerance.json` has the same bounds for Python without diopigen (optools), and the class of each overload of
ATen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from diopigen.contract.dtypes import MANTISSA
from diopigen.contract.tolerance import class_bound
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import spec_files
from diopigen.emit.templates import render
from diopigen.ir.c_types import DtypeInfo
from diopigen.ir.model import Interface
from diopigen.spec.grammar_operators import TOLERANCES

TARGET = "tolerance"
_CLASSES = (*TOLERANCES, "none")


def emit(interface: Interface, templates: Path) -> Plan:
    """The header and the table; no file for an interface without dtypes."""
    if not interface.dtypes:
        return Plan()
    functions = sorted(interface.functions, key=lambda function: function.name)
    values = {
        "classes": [f"k{name.capitalize()}" for name in _CLASSES],
        "bounds": [(name, [_bound(name, info) for info in interface.dtypes]) for name in _CLASSES],
        "functions": [(one.name, f"k{(one.tolerance or 'none').capitalize()}") for one in functions],
    }
    template = "tolerance/tolerance.h.j2"
    inputs = (*spec_files(interface, functions), "specs/types.yaml", f"templates/{template}")
    content = render(templates, template, values)
    table = {
        "bounds": {name: {info.name: _bound(name, info) for info in interface.dtypes} for name in TOLERANCES},
        "overloads": _classes_of_overloads(interface),
    }
    text = (json.dumps(table, indent=1) + "\n").encode()
    read = (*inputs[:-1], *(("specs/torch.yaml",) if interface.aten.handwritten else ()))
    return Plan(
        (
            PlannedFile("include/diopigen/tolerance.h", content, inputs, TARGET),
            PlannedFile("tolerance/tolerance.json", text, read, TARGET),
        )
    )


def _classes_of_overloads(interface: Interface) -> dict[str, str]:
    """The class of each overload that functions serve; of several classes the last one in the order of the grammar."""
    classes = {function.name: function.tolerance for function in interface.functions}
    served = [(one.name, function.name) for function in interface.functions for one in function.aten]
    for kernel in interface.aten.handwritten:
        served += [(name, called) for name in (kernel.overload, *kernel.also) for called in kernel.calls]
    found: dict[str, str] = {}
    for overload, function in served:
        # PyTorch's own name of what it hands to a new device.
        name, tolerance = overload.removesuffix("_overrideable"), classes.get(function)
        if tolerance:
            found[name] = max(tolerance, found.get(name, TOLERANCES[0]), key=TOLERANCES.index)
    return dict(sorted(found.items()))


def _bound(tolerance: str, info: DtypeInfo) -> Sequence[float]:
    """relative, scaled, scaled by the root of the terms, tiny and narrowed; zeros where elements must be equal."""
    if tolerance in ("exact", "random") or (info.real or info.name) not in MANTISSA:
        return (0.0,) * 5
    none, one = (class_bound(tolerance, info.name, terms) for terms in (0, 1))
    return one.relative, none.scaled, one.scaled - none.scaled, one.tiny, one.narrowed
