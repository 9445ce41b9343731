"""Variables of the environment: the page that lists them, and the table that C++ reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.ir.environment_model import Variable
from diopigen.ir.model import Interface
from diopigen.spec.grammar_environment import KINDS

TARGET = "environment"


def emit(interface: Interface, templates: Path) -> Plan:
    """`include/diopigen/environment.h`, which sources of the runtime include; with variables also `docs/environment.md`
    and its Chinese translation."""
    if not interface.dtypes:
        return Plan()
    files: list[tuple[str, str, Mapping[str, object]]] = []
    for language, name in enumerate(("environment.md", "environment.zh-CN.md") if interface.environment else ()):
        parts = [
            (part.title[language], [_row(one, language) for one in part.variables]) for part in interface.environment
        ]
        files.append((f"docs/{name}", f"environment/{name}.j2", {"parts": parts}))
    variables = [one for part in interface.environment for one in part.variables if "<" not in one.name]
    files.append(("include/diopigen/environment.h", "environment/environment.h.j2", {"variables": variables}))
    return Plan(
        tuple(
            PlannedFile(
                path, render(templates, template, values), ("specs/environment.yaml", f"templates/{template}"), TARGET
            )
            for path, template, values in files
        )
    )


def _row(variable: Variable, language: int) -> str:
    """A row of the table in English (0) or Chinese (1)."""
    kind = KINDS[variable.kind][language]
    if variable.kind in ("choice", "list"):
        kind = (", " if language == 0 else "、").join(f"`{value}`" for value in variable.values)
        kind += ("; several with commas", "；可用逗号并列")[language] if variable.kind == "list" else ""
    if variable.range:
        first, last = variable.range
        kind = (f"{first} to {last}", f"{first} 至 {last}")[language]
    default = f"`{variable.default}`" if variable.default else ""
    names = "".join(f", `{alias}`" for alias in variable.aliases)
    return f"| `{variable.name}`{names} | {kind} | {default} | {variable.does[language]} |"
