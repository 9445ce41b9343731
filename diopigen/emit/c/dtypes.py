"""The dtypes of the interface for C++: the name of each, and the bytes of an element."""

from __future__ import annotations

from pathlib import Path

from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.ir.model import Interface

TARGET = "dtypes"


def emit(interface: Interface, templates: Path) -> Plan:
    """`include/diopigen/dtypes.h`."""
    template = "c/dtypes.h.j2"
    content = render(templates, template, {"dtypes": interface.dtypes, "header": interface.types_header})
    inputs = ("specs/types.yaml", f"templates/{template}")
    return Plan((PlannedFile("include/diopigen/dtypes.h", content, inputs, TARGET),))
