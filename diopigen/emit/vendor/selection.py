"""Operators with skeletons in a vendor's tree, and the check of a vendor's name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from typing import Any

from diopigen.diagnostics import Diagnostic, Failure, Severity, failure, nearest
from diopigen.emit.vendor.skeleton import Operator, operators
from diopigen.ir.model import Interface

RULES = {
    "vendor-name": "a vendor's name is a plain C identifier that nothing else uses",
    "unknown-operator": "every --ops pattern fits an operator that a vendor may implement",
    "unknown-family": "every --family is one of the spec",
}

_LONGEST_VENDOR = 64

_RESERVED = {
    "a keyword of C or C++": (
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
        "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
        "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
        "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
        "register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
        "struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned using "
        "virtual void volatile wchar_t while xor xor_eq"
    ),
    "a macro of compilers or of the C library": "assert errno i386 linux major minor stderr stdin stdout unix",
    "a device name that some file systems refuse": "aux con nul prn",
    "a namespace of C++": "posix std",
    "a name of diopigen's own": "diopi diopigen impl",
}
_REASON = {name: reason for reason, names in _RESERVED.items() for name in names.split()}


def why_reserved(name: str) -> str | None:
    """Returns another use of the lower-case name; None if there is none."""
    return _REASON.get(name)


@dataclass(frozen=True, slots=True)
class Selection:
    """Operators by patterns (`Conv*`, `diopiAdd`), by family, all of them, or the starter set."""

    patterns: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    everything: bool = False
    starter: bool = False

    @property
    def is_empty(self) -> bool:
        """Returns whether nothing was chosen."""
        return not (self.patterns or self.families or self.everything or self.starter)

    def union(self, other: Selection) -> Selection:
        """Union of the two selections."""
        return Selection(
            tuple(sorted({*self.patterns, *other.patterns})),
            tuple(sorted({*self.families, *other.families})),
            self.everything or other.everything,
            self.starter or other.starter,
        )

    def as_json(self) -> dict[str, Any]:
        """The selection as it is kept in the tree."""
        return {
            "ops": list(self.patterns),
            "families": list(self.families),
            "all": self.everything,
            "starter": self.starter,
        }


NOTHING = Selection()


def selection_from_json(document: Mapping[str, Any]) -> Selection:
    """The inverse of `Selection.as_json`. Raises KeyError, TypeError or ValueError for anything else."""
    patterns, families = tuple(document["ops"]), tuple(document["families"])
    everything, starter = document["all"], document["starter"]
    if not all(isinstance(name, str) for name in (*patterns, *families)):
        raise ValueError("names are texts")
    if not isinstance(everything, bool) or not isinstance(starter, bool):
        raise ValueError("'all' and 'starter' are true or false")
    return Selection(patterns, families, everything, starter)


def require_vendor_name(name: str) -> None:
    """Raises `Failure` where `name` cannot be the name of a folder, a namespace and a CMake project."""
    reason = None
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        reason = "it is not a C identifier"
    elif name.startswith("_") or "__" in name:
        reason = "C and C++ reserve names that start with '_' or have '__'"
    elif len(name) > _LONGEST_VENDOR:
        reason = f"it is longer than {_LONGEST_VENDOR} characters"
    elif name.lower() in _REASON:
        reason = f"it is {_REASON[name.lower()]}"
    if reason:
        fix = "use letters, digits and single '_', starting with a letter: --vendor droplet"
        raise failure("vendor-name", f"'{name}' cannot be a vendor's name: {reason}", fix=fix)


def require_known(interface: Interface, selection: Selection) -> None:
    """Raises `Failure` with every pattern and every family of `selection` that fits nothing."""
    known = operators(interface)
    problems = [
        _unknown_pattern(interface, known, pattern)
        for pattern in selection.patterns
        if not any(_fits(operator, pattern) for operator in known)
    ]
    families = sorted({operator.family for operator in known})
    for family in selection.families:
        if family not in families:
            near = nearest(family, families)
            fix = f"did you mean '{near}'?" if near else f"families: {', '.join(families)}"
            problems.append(_error("unknown-family", f"there is no family '{family}'", fix))
    if problems:
        raise Failure(*problems)


def select(interface: Interface, selection: Selection) -> tuple[Operator, ...]:
    """The selected operators in the order of the headers. Names that fit nothing (any more) select nothing."""
    return tuple(
        operator
        for operator in operators(interface)
        if selection.everything
        or operator.family in selection.families
        or (selection.starter and operator.functions[0].starter)
        or any(_fits(operator, pattern) for pattern in selection.patterns)
    )


def _fits(operator: Operator, pattern: str) -> bool:
    names = {operator.name, *(function.name for function in operator.functions)}
    names |= {function.short_name for function in operator.functions}
    return any(fnmatchcase(name, pattern) for name in names)


def _unknown_pattern(interface: Interface, known: tuple[Operator, ...], pattern: str) -> Diagnostic:
    other = next(
        (f for f in interface.functions if fnmatchcase(f.name, pattern) or fnmatchcase(f.short_name, pattern)),
        None,
    )
    if other is not None:
        whose = "the host" if other.family == "runtime" else "impl/<vendor>/library.cpp, which every tree has,"
        message = f"'{pattern}' is no operator: {whose} implements {other.name}"
        return _error("unknown-operator", message, "leave it out")
    prefix = interface.naming.prefix if pattern.startswith(interface.naming.prefix) else ""
    names = [prefix + function.short_name for operator in known for function in operator.functions]
    near = _nearest_name(re.sub(r"[*?\[\]!]", "", pattern), names)
    fix = f"did you mean '{near}'?" if near else "use the name of an operator (Add, diopiAdd) or a pattern (Conv*)"
    return _error("unknown-operator", f"no operator fits '{pattern}'", fix)


def _nearest_name(text: str, names: Sequence[str]) -> str | None:
    """The most similar name among those that start as `text` does but for its last letter, else among all."""
    start = text[: max(2, len(text) - 1)].lower()
    alike = [name for name in names if name.lower().startswith(start)] if len(start) > 1 else []
    if not alike:
        return nearest(text, names)
    return max(alike, key=lambda name: SequenceMatcher(None, text.lower(), name.lower()).ratio())


def _error(code: str, message: str, fix: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, None, (), fix)
