"""A JSON file that the user names, read value by value: each of the kind that is expected there, or named in a message.

`Form` carries the way to its value (`headers[0].functions[3].name`), so that a damaged file is described in the terms
of the file and not of the program that reads it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Span, failure
from diopigen.spec.text_file import read_regular, unreadable

_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS = {bool: "a bool", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}


class FormFault(ValueError):
    """A value that is missing or of another kind; the message says where, what is there and what is expected."""


class Form:
    """A value of a JSON document and the way to it."""

    __slots__ = ("value", "way")

    def __init__(self, value: Any, way: str = "") -> None:
        self.value = value
        self.way = way

    def __getitem__(self, key: str) -> Form:
        """The value of a key that an object must have."""
        if key not in self._object():
            raise FormFault(f"{self._named()} has no '{key}'")
        return self._inner(key)

    def get(self, key: str, default: Any) -> Form:
        """The value of a key, or `default` where the object does not have it."""
        return self._inner(key) if key in self._object() else Form(default, f"{self.way}.{key}")

    def __contains__(self, key: str) -> bool:
        return key in self._object()

    def entries(self) -> Iterator[tuple[str, Form]]:
        """Keys and values of an object."""
        return ((key, self._inner(key)) for key in self._object())

    def items(self) -> Iterator[Form]:
        """The values of a list."""
        if not isinstance(self.value, list):
            raise self.fault("a list")
        return (Form(value, f"{self.way}[{index}]") for index, value in enumerate(self.value))

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.fault("a text")
        if not self.value.isascii() and _SURROGATE.search(self.value):
            raise FormFault(f"{self._named()} holds half of a pair of surrogates")
        return self.value

    def whole(self, low: int = -(2**63), high: int = 2**64 - 1) -> int:
        """An integral number in [low, high]; by default one that C has a type for."""
        if type(self.value) is not int:
            raise self.fault("an integral number")
        if not low <= self.value <= high:
            raise FormFault(f"{self._named()} is out of range")
        return self.value

    def number(self) -> float:
        """A finite number."""
        if type(self.value) not in (int, float):
            raise self.fault("a number")
        try:
            found = float(self.value)
        except OverflowError:
            found = math.inf
        if not math.isfinite(found):
            raise FormFault(f"{self._named()} is not finite")
        return found

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.fault("a bool")
        return self.value

    def fault(self, expected: str) -> FormFault:
        """Returns the exception for an unexpected value."""
        found = "null" if self.value is None else _KINDS[type(self.value)]
        if isinstance(self.value, str):
            found = f"'{self.value if len(self.value) <= 40 else self.value[:37] + '...'}'"
        return FormFault(f"{self._named()} is {found}, not {expected}")

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.fault("an object")
        return self.value

    def _inner(self, key: str) -> Form:
        return Form(self.value[key], f"{self.way}.{key}" if self.way else key)

    def _named(self) -> str:
        return self.way or "the document"


def read_json(path: Path, code: str, fix: str) -> Form:
    """The document in a file. Raises `Failure` with the rule `code` where it cannot be read or is no JSON; of an object
    with a key twice as well."""
    name = str(path)
    try:
        return Form(json.loads(read_regular(path), object_pairs_hook=_distinct))
    except FormFault as error:
        raise failure(code, str(error), Span(name), fix) from None
    except json.JSONDecodeError as error:
        raise failure(code, f"is not JSON: {error.msg}", Span(name, error.lineno, error.colno), fix) from None
    except UnicodeDecodeError:
        raise failure(code, "is not UTF-8", Span(name), fix) from None
    except RecursionError:
        raise failure(code, "is nested too deeply", Span(name), fix) from None
    except (OSError, ValueError) as error:  # the path, or a number of thousands of digits
        problem = unreadable(error) if isinstance(error, OSError) or "\0" in name else "is not JSON: too long a number"
        raise failure(code, problem, Span(name), fix) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise FormFault(f"is damaged: an object has '{key}' twice")
            seen.add(key)
    return found
