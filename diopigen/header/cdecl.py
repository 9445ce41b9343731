"""Declarations of a C interface, as immutable values: the common form of a parsed header and of the spec.

Type spellings are canonical (see `canonical_type`), so that two declarations are ABI-identical exactly when
these values are equal. Spans are left out of comparisons.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Union

from diopigen.diagnostics import Span

_SPELLINGS = (
    (re.compile(r"\b_Bool\b"), "bool"),
    (re.compile(r"\b(?:struct|enum|union)\s+"), ""),
    (re.compile(r"\s*\*\s*"), " *"),
    (re.compile(r"\*\s+\*"), "**"),
    (re.compile(r"\s+"), " "),
)


def canonical_type(spelling: str) -> str:
    """One spelling for a C type: `bool`, no `struct`/`enum` tags, `T *`, `T **`, single spaces."""
    text = spelling
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return text.replace("* *", "**").strip()


@dataclass(frozen=True, slots=True)
class CParam:
    """A parameter; `name` is empty where the header gives none, and `...` is a parameter of type `...`.

    `resolved` is the type behind all typedefs, as clang sees it; empty where no parser saw the declaration.
    """

    name: str
    type: str
    span: Span | None = field(default=None, compare=False)
    resolved: str = field(default="", compare=False)
    has_default: bool = field(default=False, compare=False)
    """True if a default argument is declared, which C does not have."""


@dataclass(frozen=True, slots=True)
class CFunction:
    """A function declaration. `weak` is the linkage attribute, `deprecated` the attribute.

    `header` is the base name of the file that declares it (`functions.h`), empty where it is unknown. `purpose` is what
    it does in a sentence, empty where it is not said.
    """

    name: str
    returns: str
    params: tuple[CParam, ...]
    weak: bool = True
    deprecated: bool = False
    span: Span | None = field(default=None, compare=False)
    doc: CDoc | None = field(default=None, compare=False)
    header: str = field(default="", compare=False)
    resolved_returns: str = field(default="", compare=False)
    stated: str = field(default="", compare=False)

    @property
    def purpose(self) -> str:
        return self.stated or (self.doc.brief if self.doc else "")


@dataclass(frozen=True, slots=True)
class CDocParam:
    """A documented parameter: `direction` is what is in `@param[...]`, empty where there is none, and `dtypes` what
    is in `type = [...]`."""

    name: str
    direction: str
    text: str
    span: Span | None = field(default=None, compare=False)
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CDoc:
    """A Doxygen comment: its brief text, its parameters in order, and the functions that it names.

    `elsewhere` are those in whose comments it says that other parameters are documented.
    """

    brief: str
    params: tuple[CDocParam, ...]
    references: tuple[tuple[str, Span], ...] = ()
    span: Span | None = None
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CEnum:
    """An enum with its values in order; `value_spans`, where known, runs parallel to `values`."""

    name: str
    values: tuple[tuple[str, int], ...]
    underlying: str = "unsigned int"
    span: Span | None = field(default=None, compare=False)
    value_spans: tuple[Span, ...] = field(default=(), compare=False)


def enum_type(values: Iterable[int]) -> str:
    """The type that a C compiler gives an enum with these values."""
    return "int" if min(values, default=0) < 0 else "unsigned int"


@dataclass(frozen=True, slots=True)
class CField:
    """A struct member; `offset` in bytes. Members of an anonymous union share an offset.

    Members of an unnamed struct or union that has a member name are listed as `member.inner`;
    a bit field has its width in its type (`int : 3`).
    """

    name: str
    type: str
    offset: int
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CStruct:
    """A struct: size and alignment in bytes, or `opaque` (declared, never defined)."""

    name: str
    opaque: bool
    size: int = 0
    align: int = 0
    fields: tuple[CField, ...] = ()
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CTypedef:
    """A typedef and the canonical spelling of what it stands for (for a struct or enum: its tag's name)."""

    name: str
    underlying: str
    span: Span | None = field(default=None, compare=False)


CType = Union[CEnum, CStruct, CTypedef]


@dataclass(frozen=True, slots=True)
class CInterface:
    """Everything that a set of headers declares, in order of declaration.

    `files` are the headers as they were given, `macro_spans` says where each macro is defined, and `visible`
    holds the names that included headers outside the set declare.
    """

    functions: tuple[CFunction, ...] = ()
    enums: tuple[CEnum, ...] = ()
    structs: tuple[CStruct, ...] = ()
    typedefs: tuple[CTypedef, ...] = ()
    macros: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = field(default=(), compare=False)
    macro_spans: tuple[tuple[str, Span], ...] = field(default=(), compare=False)
    visible: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def types(self) -> tuple[CType, ...]:
        """Enums, structs and typedefs."""
        return (*self.enums, *self.structs, *self.typedefs)


def documented_params(by_name: Mapping[str, CFunction], function: CFunction) -> dict[str, CDocParam]:
    """Documentation of the parameters of a function by name, in its own comment or in one that it refers to."""
    names = {param.name for param in function.params}
    found: dict[str, CDocParam] = {}
    waiting, seen = [function], {function.name}
    while waiting:
        doc = waiting.pop(0).doc
        if doc is None:
            continue
        for entry in doc.params:
            if entry.name in names:
                found.setdefault(entry.name, entry)
        for name in doc.elsewhere:
            if name in by_name and name not in seen:
                seen.add(name)
                waiting.append(by_name[name])
    return found
