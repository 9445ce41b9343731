"""Python literals laid out as the usual formatters do (120 columns): emitted files need no formatter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

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
    return _laid_out(f"{name} = ", value, "", 0) + "\n"


def _laid_out(head: str, value: Literal, tail: str, depth: int) -> str:
    """On one line where it fits, else one item a line with a comma behind the last one."""
    before = f"{_INDENT * depth}{head}"
    parts = _parts(value)
    if parts is None:
        return f"{before}{_simple(value)}{tail}"
    if not parts[1]:
        return f"{before}{parts[0]}{parts[2]}{tail}"
    opening, items, closing = parts
    text = _shortened(value, parts, COLUMNS - len(before) - len(tail))
    if text is not None:
        return f"{before}{text}{tail}"
    inner = [_laid_out(name, item, ",", depth + 1) for name, item in items]
    return "\n".join([f"{before}{opening}", *inner, f"{_INDENT * depth}{closing}{tail}"])


_Parts = tuple[str, list[tuple[str, Literal]], str]


def _parts(value: Literal) -> _Parts | None:
    """The brackets of a value and its items, each with what comes before it; None where it has none."""
    if value is None or isinstance(value, (str, int, float, Code)):
        return None
    if isinstance(value, (list, tuple)):
        brackets = "[]" if isinstance(value, list) else "()"
        return brackets[0], [("", item) for item in value], brackets[1]
    if isinstance(value, CallText):
        named = [(f"{key}=", item) for key, item in (value.keywords or {}).items()]
        return f"{value.function}(", [*(("", item) for item in value.arguments), *named], ")"
    if isinstance(value, Mapping):
        return "{", [(f"{python_string(key)}: ", item) for key, item in value.items()], "}"
    return None


def _shortened(value: Literal, parts: _Parts, columns: int) -> str | None:
    """`one_line` of a value with items where it fits into the columns; None, as soon as it does not, otherwise."""
    opening, items, closing = parts
    comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
    left = columns - len(opening) - len(closing) - len(comma)
    if 3 * len(items) - 2 > left:
        return None
    texts = []
    for name, item in items:
        inner = _parts(item)
        rest = left - len(name)
        text = _simple(item) if inner is None else _shortened(item, inner, rest)
        if text is None or len(text) > rest:
            return None
        texts.append(name + text)
        left -= len(texts[-1]) + 2
    return opening + ", ".join(texts) + comma + closing


def one_line(value: Literal) -> str:
    """The value without line breaks."""
    parts = _parts(value)
    if parts is not None:
        opening, items, closing = parts
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return opening + ", ".join(f"{name}{one_line(item)}" for name, item in items) + comma + closing
    return _simple(value)


def _simple(value: Literal) -> str:
    """A value that has no items."""
    if isinstance(value, Code):
        return value.text
    if isinstance(value, float) and value != value:
        return 'float("nan")'
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return python_string(value) if isinstance(value, str) else repr(value).replace("e+", "e")
