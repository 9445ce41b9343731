"""The settings of a project as defaults of options, in the form that click takes them."""

from __future__ import annotations

from typing import Any

import click

from diopigen.project.file import Project
from diopigen.project.grammar import COMMON, DEFAULTS


def defaults(project: Project, group: click.Group) -> dict[str, Any]:
    """The defaults by command and parameter, groups nested; what the command line says wins over them."""
    found = _common(project, group)
    for key, parameters in DEFAULTS.items():
        if key in project.values:
            for command, parameter in parameters:
                *groups, name = command.split()
                inner = found
                for part in groups:
                    inner = inner[part]
                inner[name][parameter] = project.values[key]
    return found


def _common(project: Project, group: click.Group) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found[name] = _common(project, command)
            continue
        parameters = {parameter.name for parameter in command.params}
        if "templates" not in parameters:
            parameters &= {"spec"}  # what is called so elsewhere (`conformance coverage --strict`) is something else
        found[name] = {
            parameter: project.values[key]
            for key, parameter in COMMON.items()
            if parameter in parameters and key in project.values
        }
    return found
