"""Coverage of the cases, function by dtype by axis, and its gaps.

A hole is a function whose values no oracle knows, a dtype that the spec lists for a parameter and that no call which
has to succeed passes there, or an axis that the function should have and has not. Holes that are known have a reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from diopigen.conformance.cases.choices import primary_dtypes
from diopigen.conformance.cases.reach import unreached
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import SUCCESS, Case, operands_of
from diopigen.conformance.oracles import oracle_of
from diopigen.ir.model import Function
from diopigen.output import table


@dataclass(frozen=True, slots=True)
class Hole:
    """One thing that is not reached: `kind` is `oracle`, `dtype` or `axis`; `reason` says why, where it is known."""

    kind: str
    message: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FunctionCoverage:
    """Coverage of the cases of one function. `counts` has the number of cases by (dtype, axis); `dtypes` are those that
    the spec lists for the parameter that names the case."""

    function: str
    family: str
    dtypes: tuple[str, ...]
    has_oracle: bool
    counts: Mapping[tuple[str, str], int]
    holes: tuple[Hole, ...]

    @property
    def unknown(self) -> tuple[Hole, ...]:
        """The holes without a reason."""
        return tuple(hole for hole in self.holes if not hole.reason)

    @property
    def cases(self) -> int:
        """The number of cases."""
        return sum(self.counts.values())


def coverage(
    functions: Sequence[Function], cases: Sequence[Case], not_covered: Mapping[str, str]
) -> list[FunctionCoverage]:
    """The coverage of functions by cases, which may be cases of other functions as well. `not_covered` are the headers
    whose functions may be without an oracle, each with the reason (`Interface.not_covered`)."""
    groups: dict[str, list[Case]] = {function.name: [] for function in functions}
    for case in cases:
        if case.function in groups:
            groups[case.function].append(case)
    return [_of(function, groups[function.name], not_covered.get(function.header, "")) for function in functions]


def _of(function: Function, cases: Sequence[Case], reason: str) -> FunctionCoverage:
    known = oracle_of(function) is not None
    holes = [] if known else [Hole("oracle", "no oracle knows the right values", reason)]
    for hole in (*_dtype_holes(function, cases), *_axis_holes(function, cases)):
        holes.append(hole if known or hole.reason else replace(hole, reason=reason))
    counts = Counter((case.dtype, case.axis) for case in cases)
    return FunctionCoverage(function.name, function.family, primary_dtypes(function), known, counts, tuple(holes))


def _dtype_holes(function: Function, cases: Sequence[Case]) -> Iterator[Hole]:
    for name, missing in unreached(function, cases).items():
        yield Hole("dtype", f"{name} is never {' or '.join(missing)}")


def _axis_holes(function: Function, cases: Sequence[Case]) -> Iterator[Hole]:
    axes = {case.axis for case in cases}
    axes |= {word for case in cases for word in ("device", "overlap") if f"/{word}-" in case.id}
    if not any(case.expect == SUCCESS for case in cases):
        yield Hole("axis", "no case has to succeed")
        return
    checks = []
    has_tensors = any(param.type in ("tensor", "tensors") for param in function.params)
    if has_tensors:
        checks.append(("error", "no case has to be refused"))
    tensors = [param for param in function.params if param.type in ("tensor", "tensors")]
    if len(tensors) > 1 and not any(param.sparse for param in tensors):
        checks.append(("device", "no case has tensors on two devices"))
        if any(param.is_written for param in tensors) and _have_parts(cases):
            checks.append(("overlap", "no case has tensors that share memory in part"))
    if has_tensors and function.kernel is None:
        checks.append(("strided", "no case has gaps between its elements"))
    if function.tolerance == "random":
        checks.append(("distribution", "no case checks the distribution"))
    for axis, message in checks:
        if axis not in axes:
            yield Hole("axis", message)


def _have_parts(cases: Sequence[Case]) -> bool:
    """Returns whether tensors have several elements: those of one share all of their memory or none."""
    return any(
        math.prod(one.shape) > 1 for c in cases if c.expect == SUCCESS for one in operands_of(c.arguments.values())
    )


def to_record(found: FunctionCoverage) -> dict[str, Any]:
    """The coverage of a function as an object: cases by dtype, then by axis; every dtype of the spec is there."""
    by_dtype: dict[str, dict[str, int]] = {dtype: {} for dtype in found.dtypes}
    for (dtype, axis), count in found.counts.items():
        by_dtype.setdefault(dtype, {})[axis] = count
    return {
        "function": found.function,
        "family": found.family,
        "oracle": found.has_oracle,
        "cases": found.cases,
        "dtypes": by_dtype,
        "holes": [{"kind": hole.kind, "message": hole.message, "reason": hole.reason} for hole in found.holes],
    }


def text(found: Sequence[FunctionCoverage], *, by: str = "dtype", holes_only: bool = False) -> str:
    """A table of functions by `dtype` or `axis` with numbers of cases, then every hole, those with a reason under it,
    then a summary.

    With `holes_only` the table leaves out functions without holes. In the table of dtypes a `-` is where the spec
    does not list the dtype, a `0` where it does and no case has it.
    """
    if by == "dtype":
        named = {dtype for row in found for dtype in (*row.dtypes, *(key[0] for key in row.counts))}
        columns = [dtype for dtype in (*STORAGE, "none") if dtype in named]
    else:
        columns = list(dict.fromkeys(key[1] for row in found for key in row.counts))
    header = ["function", "oracle", "cases", *columns]
    rows = [_row(row, columns, by) for row in found if row.holes or not holes_only]
    lines = table.ruled([header, *rows], left=[0])
    holes = [f"{row.function}: {hole.message} ({hole.kind})" for row in found for hole in row.unknown]
    known = _known(found)
    return "\n".join([*lines, "", *known, *holes, *([""] if holes else []), summary(found)]) + "\n"


def _known(found: Sequence[FunctionCoverage]) -> list[str]:
    """The holes that have a reason, by reason."""
    groups: dict[str, list[str]] = {}
    for row in found:
        for hole in row.holes:
            if hole.reason:
                text = row.function if hole.kind == "oracle" else f"{row.function}: {hole.message}"
                groups.setdefault(hole.reason, []).append(text)
    lines = []
    for reason, members in groups.items():
        lines += [f"known: {reason}:", *(f"  {member}" for member in members), ""]
    return lines


def _row(row: FunctionCoverage, columns: Sequence[str], by: str) -> list[str]:
    index = 0 if by == "dtype" else 1
    counts: Counter[str] = Counter()
    for key, count in row.counts.items():
        counts[key[index]] += count
    cells = [str(counts[name]) if counts[name] or (by == "dtype" and name in row.dtypes) else "-" for name in columns]
    return [row.function, "yes" if row.has_oracle else "no", str(row.cases), *cells]


def summary(found: Sequence[FunctionCoverage]) -> str:
    """One line: how much is reached, and how many holes there are of each kind."""
    total = sum(not row.holes for row in found)
    cases = sum(row.cases for row in found)
    holes = _counted(hole for row in found for hole in row.unknown)
    known = _counted(hole for row in found for hole in row.holes if hole.reason)
    text = f"{len(found)} functions, {cases} cases; {total} functions without a hole; holes: {holes or 'none'}"
    return f"{text}; known ones: {known}" if known else text


def _counted(holes: Iterable[Hole]) -> str:
    kinds = Counter(hole.kind for hole in holes)
    return ", ".join(f"{kinds[kind]} of {kind}" for kind in ("oracle", "dtype", "axis") if kinds[kind])
