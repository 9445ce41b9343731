"""ATen schemas, as far as the spec needs them: the arguments and returns of an overload, with their mutability."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

_ARGUMENT = re.compile(
    r"(?P<type>[A-Za-z]+)(?:\((?P<alias>[^)]*)\))?(?P<suffix>(?:\[[0-9]*\]|\?)*)"
    r"(?:\s+(?P<name>[A-Za-z_][A-Za-z0-9_]*))?(?:\s*=\s*(?P<default>.*))?\Z"
)
_NESTING = re.compile(r"""\([^)]*,|\[[^\]]*,|['"]""")
"""Quotes, or a bracket with a comma inside."""
_LENGTH = re.compile(r"\[([0-9]+)\]")

_NUMBERS = frozenset({"scalar", "double", "float", "int64"})
_KINDS: Mapping[str, frozenset[str]] = {
    "Tensor": frozenset({"tensor"}),
    "Scalar": _NUMBERS,
    "int": frozenset({"int64", "int32", "diopiReduction_t", "sizes"}),
    "SymInt": frozenset({"int64", "int32", "diopiReduction_t", "sizes"}),
    "float": frozenset({"double", "float", "scalar"}),
    "bool": frozenset({"bool"}),
    "str": frozenset({"string", "diopiRoundMode_t"}),
    "Generator": frozenset({"generator"}),
}

FOR_ALL_DEVICES: Mapping[str, str] = {
    "convolution_overrideable": "convolution",
    "convolution_backward_overrideable": "convolution_backward",
}
"""Overloads that torch calls on devices of its PrivateUse1 key alone, with those that lead to them on any device."""

ROUNDING_MODES: Mapping[str, str | None] = {"RoundModeNone": None, "RoundModeTrunc": "trunc", "RoundModeFloor": "floor"}
"""Enumerators of the interface with the words of ATen."""


@dataclass(frozen=True, slots=True)
class AtenArgument:
    """An argument or return. `written` where its alias annotation ends in `!`."""

    name: str
    type: str
    optional: bool
    is_list: bool
    written: bool
    keyword_only: bool = False
    optional_items: bool = False
    """A list whose items may be missing: `Tensor?[]`."""
    length: int | None = None
    """The length of a list that has a fixed one: `bool[3]`."""
    has_default: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class AtenSchema:
    """An overload."""

    name: str
    arguments: tuple[AtenArgument, ...]
    returns: tuple[AtenArgument, ...]

    @property
    def defaults(self) -> frozenset[str]:
        """The arguments that have a default."""
        return frozenset(argument.name for argument in self.arguments if argument.has_default)

    @property
    def is_inplace(self) -> bool:
        """Returns whether `self` is written."""
        return any(a.written and a.name == "self" for a in self.arguments)

    @property
    def is_out(self) -> bool:
        """Returns whether results are written to keyword-only arguments."""
        return any(a.written and a.keyword_only for a in self.arguments)


def _split(text: str) -> list[str]:
    """The parts between commas that are outside brackets and quotes."""
    if _NESTING.search(text) is None:
        return [part.strip() for part in text.split(",") if part.strip()]
    parts, depth, current, quote = [], 0, "", ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        if character == "," and depth == 0 and not quote:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    if current.strip():
        parts.append(current.strip())
    return parts


def _argument(text: str, keyword_only: bool) -> AtenArgument:
    match = _ARGUMENT.match(text)
    if match is None:
        raise ValueError(f"'{text}' is not an argument of a schema")
    suffix = match.group("suffix") or ""
    length = _LENGTH.search(suffix)
    return AtenArgument(
        name=match.group("name") or "",
        type=match.group("type"),
        optional=suffix.endswith("?"),
        is_list="[" in suffix,
        written="!" in (match.group("alias") or ""),
        keyword_only=keyword_only,
        optional_items="?[" in suffix,
        length=int(length.group(1)) if length is not None else None,
        has_default=match.group("default") is not None,
    )


def kinds_of(argument: AtenArgument) -> frozenset[str]:
    """The types of parameters that may have an argument."""
    if argument.is_list and argument.type == "Tensor":
        return frozenset({"tensors"})
    if argument.is_list:
        return frozenset({"sizes"}) if argument.type in ("int", "SymInt") else frozenset()
    return _KINDS.get(argument.type, frozenset())


@cache
def parse_schema(text: str) -> AtenSchema:
    """The schema that `text` writes as `native_functions.yaml` does. Raises `ValueError`."""
    head, arrow, tail = text.rpartition(" -> ")
    name, bracket, rest = head.partition("(")
    if not arrow or not bracket or not rest.endswith(")"):
        raise ValueError(f"'{text}' is not a schema")
    arguments, keyword_only = [], False
    for part in _split(rest[:-1]):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only))
    returned = tail[1:-1] if tail.startswith("(") else tail
    return AtenSchema(name, tuple(arguments), tuple(_argument(part, False) for part in _split(returned)))
