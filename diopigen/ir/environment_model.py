"""Variables of the environment that a user can set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: the kind of its values, those of a choice or list, the smallest and largest number, the value where
    it is not set, other names that set it, and its effect in English and Chinese. `written`: it names a file or folder
    that a library writes."""

    name: str
    kind: str
    values: tuple[str, ...]
    range: tuple[int, ...]
    default: str
    aliases: tuple[str, ...]
    does: tuple[str, str]
    written: bool = False


@dataclass(frozen=True, slots=True)
class EnvironmentPart:
    """The variables of one component, whose title is in English and Chinese."""

    title: tuple[str, str]
    variables: tuple[Variable, ...]
