"""Families of rules, and how they are discovered and run."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import diopigen.check
from diopigen.diagnostics import Correction, Sink, Span, did_you_mean
from diopigen.header.cdecl import CInterface
from diopigen.header.renames import renames
from diopigen.header.signature import c_interface
from diopigen.ir.model import Function, Interface
from diopigen.ir.types import TYPES


class Subject:
    """The interface under check, with the indexes that rules share."""

    def __init__(self, interface: Interface, complete: bool = True, published: CInterface | None = None) -> None:
        self.interface = interface
        self.complete = complete
        """True if every entry could be read; rules about absence keep silent where not."""
        self.published = published
        """The interface as it was generated last, where that is known."""

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        return self.interface.functions

    @cached_property
    def by_name(self) -> Mapping[str, Function]:
        return {function.name: function for function in self.functions}

    @cached_property
    def named_types(self) -> Mapping[str, str]:
        """Enums, handles and structs: the types that a parameter can have in addition to `TYPES`."""
        return self.interface.named_types

    @cached_property
    def c_types(self) -> frozenset[str]:
        """The names that C types may have besides the words of C."""
        return frozenset((*self.named_types, *(struct.name for struct in self.interface.structs)))

    @cached_property
    def enum_values(self) -> Mapping[str, str]:
        """Enum value to the name of its enum."""
        return {value.name: enum.name for enum in self.interface.enums for value in enum.values}

    @cached_property
    def error_values(self) -> tuple[str, ...]:
        """The values of the status enum."""
        return tuple(value for value, enum in self.enum_values.items() if enum == self.interface.naming.status)

    @cached_property
    def renames(self) -> Mapping[str, str]:
        """Functions that were renamed since the interface was generated last: old names to new ones."""
        if self.published is None or not self.complete:
            return {}
        return renames(self.published, c_interface(self.interface))

    def suggestion(self, function: str, candidates: Iterable[str]) -> str | None:
        """A fix line for the name of a function that there is not, with or without its prefix: what it was renamed to,
        else the nearest of the candidates."""
        naming = self.interface.naming
        new = self.renames.get(function)
        if new is None and naming.full(function) in self.renames:
            new = naming.short(self.renames[naming.full(function)])
        if new is not None:
            return Correction.of(f"it was renamed to '{new}'", function, new)
        return did_you_mean(function, candidates)

    def knows_type(self, name: str) -> bool:
        return name in TYPES or name in self.named_types


OPEN = frozenset(
    {"missing-direction", "missing-dtype", "missing-shape", "missing-count", "irregular-order", "doc-reference"}
)
"""The rules about what a C header cannot say, or says wrongly. In an entry with `draft: true` their findings are
warnings."""


def open_entry(function: Function, sink: Sink, rule: str, message: str, span: Span, fix: str) -> None:
    """Reports what an entry does not say yet: an error, or a warning in a draft."""
    assert rule in OPEN
    (sink.warning if function.draft else sink.error)(rule, message, span, fix=fix)


@dataclass(frozen=True, slots=True)
class Family:
    """A family of rules: the purpose of each id, and the function that applies them. One that `evaluates` expressions
    of the spec needs them to be sound: it is run where the others have found no error."""

    name: str
    rules: Mapping[str, str]
    run: Callable[[Subject, Sink], None]
    evaluates: bool = False


def families() -> Iterator[Family]:
    """All families, by name: every module of this package that has `RULES` and `check`, some also `EVALUATES`."""
    for info in sorted(pkgutil.iter_modules(diopigen.check.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"diopigen.check.{info.name}")
        rules, run = getattr(module, "RULES", None), getattr(module, "check", None)
        if rules is not None and run is not None:
            yield Family(info.name, rules, run, getattr(module, "EVALUATES", False))


def check_interface(
    interface: Interface, sink: Sink, *, complete: bool = True, published: CInterface | None = None
) -> None:
    """Applies every rule to the interface; findings go to `sink`. `published` is the interface as it was generated
    last, which tells a renamed function from one that is gone."""
    subject = Subject(interface, complete, published)
    for family in sorted(families(), key=lambda family: family.evaluates):
        if not (family.evaluates and sink.has_errors):
            family.run(subject, sink)
