"""Python literals laid out as the usual formatters do (120 columns): emitted files need no formatter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Union

from diopigen.emit.escaping import python_string

COLUMNS = 120
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Code:
    """An expression that is written as it is: `np.float32`."""

    text: str


@dataclass(frozen=True, slots=True)
class CallText:
    """A call: `dict(name=["add"])`, `Skip(np.float64)`. Positional arguments come first."""

    function: str
    arguments: Sequence[Literal] = ()
    keywords: Mapping[str, Literal] | None = None


Literal = Union[
    None, bool, int, float, str, Code, CallText, tuple["Literal", ...], list["Literal"], Mapping[str, "Literal"]
]


def assignment(name: str, value: Literal) -> str:
    """`name = value` with a newline behind it."""
    return "\n".join(_laid_out(f"{name} = ", _form(value), "", "")) + "\n"


def one_line(value: Literal) -> str:
    """The value without line breaks."""
    return _form(value).line


class _Form(NamedTuple):
    """A value on one line; its brackets and items, each with what comes before it, where it has items."""

    line: str
    opening: str = ""
    items: Sequence[tuple[str, _Form]] = ()
    closing: str = ""


def _laid_out(head: str, form: _Form, tail: str, indent: str) -> list[str]:
    """On one line where it fits, else one item a line with a comma behind the last one."""
    if not form.items or len(indent) + len(head) + len(form.line) + len(tail) <= COLUMNS:
        return [f"{indent}{head}{form.line}{tail}"]
    lines = [f"{indent}{head}{form.opening}"]
    for name, item in form.items:
        lines += _laid_out(name, item, ",", indent + _INDENT)
    return [*lines, f"{indent}{form.closing}{tail}"]


def _form(value: Literal) -> _Form:
    if isinstance(value, str):
        return _Form(python_string(value))
    if isinstance(value, (list, tuple)):
        opening, closing = "[]" if isinstance(value, list) else "()"
        items = [("", _form(item)) for item in value]
    elif isinstance(value, CallText):
        opening, closing = f"{value.function}(", ")"
        items = [("", _form(item)) for item in value.arguments]
        items += [(f"{key}=", _form(item)) for key, item in (value.keywords or {}).items()]
    elif isinstance(value, Mapping):
        opening, closing = "{}"
        items = [(f"{python_string(key)}: ", _form(item)) for key, item in value.items()]
    else:
        return _Form(_simple(value))
    comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
    line = opening + ", ".join([name + item.line for name, item in items]) + comma + closing
    return _Form(line, opening, items, closing)


def _simple(value: bool | int | float | Code | None) -> str:
    """A number or code."""
    if isinstance(value, Code):
        return value.text
    if isinstance(value, float) and value != value:
        return 'float("nan")'
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return repr(value).replace("e+", "e")
