"""Shared by rules that compare two interfaces: types behind typedefs, positions for missing declarations, and order."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diopigen.diagnostics import Span, nearest
from diopigen.header.cdecl import CFunction, CInterface, CParam
from diopigen.header.type_expr import TypeExpr, parse_type, resolve, typedef_table

_PREFIX = "diopi"
VERSION_MACROS = "DIOPI_VER_"
"""The names of the macros of the version: MAJOR, MINOR and PATCH follow."""


class Types:
    """Resolves the types of two interfaces; a typedef that one side lacks is looked up on the other."""

    def __init__(self, expected: CInterface, actual: CInterface) -> None:
        self._tables = (typedef_table(expected, actual), typedef_table(actual, expected))

    def expected(self, spelling: str, resolved: str = "") -> TypeExpr:
        return parse_type(resolved) if resolved else resolve(spelling, self._tables[0])

    def actual(self, spelling: str, resolved: str = "") -> TypeExpr:
        return parse_type(resolved) if resolved else resolve(spelling, self._tables[1])

    def of_params(self, expected: CParam, actual: CParam) -> tuple[TypeExpr, TypeExpr]:
        return self.expected(expected.type, expected.resolved), self.actual(actual.type, actual.resolved)

    def of_returns(self, expected: CFunction, actual: CFunction) -> tuple[TypeExpr, TypeExpr]:
        return (
            self.expected(expected.returns, expected.resolved_returns),
            self.actual(actual.returns, actual.resolved_returns),
        )


class Locations:
    """Position in the actual interface for a declaration that it does not have."""

    def __init__(self, actual: CInterface) -> None:
        self._actual = actual
        self._functions = {function.name: function for function in actual.functions}

    def file(self, header: str = "") -> Span | None:
        """Line 1 of the file whose base name is `header`; of the first file where there is none such."""
        for file in self._actual.files:
            if re.split(r"[/\\]", file)[-1] == header:
                return Span(file)
        return Span(self._actual.files[0]) if self._actual.files else None

    def without(self, expected: CInterface, missing: CFunction) -> Span | None:
        """The file, without a line, that has the functions which stood around the missing one."""
        neighbours = [function for function in expected.functions if function.header == missing.header]
        index = next(index for index, function in enumerate(neighbours) if function.name == missing.name)
        near = sorted(range(len(neighbours)), key=lambda other: abs(other - index))
        for other in near:
            found = self._functions.get(neighbours[other].name)
            if found is not None and found.span is not None:
                return Span(found.span.file, 0, 0)
        location = self.file(missing.header)
        return Span(location.file, 0, 0) if location else None

    def missing_function(self, expected: CInterface, missing: CFunction) -> Span | None:
        """The neighbour after which the function should stand, or the first line of its header."""
        neighbour: Span | None = None
        for function in expected.functions:
            if function.name == missing.name:
                break
            found = self._functions.get(function.name)
            if found is not None and function.header == missing.header:
                neighbour = found.span
        return neighbour or self.file(missing.header)


@dataclass(frozen=True, slots=True)
class Moved:
    """A name that is elsewhere: after which name it should be and after which it is, empty for first."""

    name: str
    expected_after: str
    actual_after: str


def moved(expected: Sequence[str], actual: Sequence[str]) -> list[Moved]:
    """The fewest names whose move gives `actual` the order of `expected`; both are compared on what they share."""
    position = {name: index for index, name in enumerate(expected)}
    present = set(actual)
    common = [name for name in expected if name in present]
    found = [name for name in actual if name in position]
    keep = set(_longest_increasing([position[name] for name in found]))
    before_expected = dict(zip(common, ["", *common], strict=False))
    before_found = dict(zip(found, ["", *found], strict=False))
    return [Moved(name, before_expected[name], before_found[name]) for name in found if position[name] not in keep]


def _longest_increasing(numbers: Sequence[int]) -> list[int]:
    """A longest increasing subsequence (patience sorting)."""
    tails: list[int] = []
    tail_indices: list[int] = []
    previous: list[int] = []
    for index, number in enumerate(numbers):
        pile = bisect_left(tails, number)
        previous.append(tail_indices[pile - 1] if pile else -1)
        if pile == len(tails):
            tails.append(number)
            tail_indices.append(index)
        else:
            tails[pile] = number
            tail_indices[pile] = index
    result: list[int] = []
    index = tail_indices[-1] if tail_indices else -1
    while index >= 0:
        result.append(numbers[index])
        index = previous[index]
    return result[::-1]


def nearest_function(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`; the prefix that all functions share does not count as likeness."""
    short = {candidate.removeprefix(_PREFIX): candidate for candidate in candidates}
    found = nearest(name.removeprefix(_PREFIX), short)
    return short[found] if found else None


def macro_tokens(body: str) -> str:
    """A macro's body with one space between tokens, however it was written."""
    return " ".join(re.findall(r"\w+|[^\w\s]", body))


def declarator(type_: str, name: str) -> str:
    """`int n`, `T *p`, and the type alone without a name."""
    separator = "" if type_.endswith("*") or not name else " "
    return f"{type_}{separator}{name}"


def declared(param: CParam) -> str:
    """A parameter as one writes it in a header."""
    return declarator(param.type, "" if param.name == "..." else param.name)


def prototype(function: CFunction) -> str:
    """A function's declaration as one writes it in a header, without its attributes."""
    params = ", ".join(map(declared, function.params))
    return f"{declarator(function.returns, function.name)}({params})"


def param_label(param: CParam, index: int) -> str:
    """Name of a parameter in messages; `index` counts from 0."""
    return f"parameter '{param.name}'" if param.name else f"parameter {index + 1}"


def quoted(names: Sequence[str]) -> str:
    """`'a', 'b' and 'c'`."""
    marked = [f"'{name}'" for name in names]
    return " and ".join([", ".join(marked[:-1]), marked[-1]] if len(marked) > 1 else marked)


def count(number: int, what: str) -> str:
    """`1 parameter`, `2 parameters`, `no parameters`."""
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
