"""What the cases reach, function by dtype by axis, and what they do not.

A hole is a function whose values no oracle knows, a dtype that the spec lists for a parameter and that no call which
has to succeed passes there, or an axis that the function should have and has not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import SUCCESS, Case, Number, Operand, Value
from diopigen.conformance.oracles import oracles
from diopigen.conformance.resolve import lead_dtypes
from diopigen.ir.model import DtypeList, Function


@dataclass(frozen=True, slots=True)
class Hole:
    """One thing that is not reached: `kind` is `oracle`, `dtype` or `axis`."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class FunctionCoverage:
    """What the cases of one function reach. `counts` has the number of cases by (dtype, axis); `dtypes` are those that
    the spec lists for the parameter that names the case."""

    function: str
    family: str
    dtypes: tuple[str, ...]
    has_oracle: bool
    counts: Mapping[tuple[str, str], int]
    holes: tuple[Hole, ...]

    @property
    def cases(self) -> int:
        """The number of cases."""
        return sum(self.counts.values())


def coverage(functions: Sequence[Function], cases: Sequence[Case]) -> list[FunctionCoverage]:
    """The coverage of functions by cases, which may be cases of other functions as well."""
    groups: dict[str, list[Case]] = {function.name: [] for function in functions}
    for case in cases:
        if case.function in groups:
            groups[case.function].append(case)
    return [_of(function, groups[function.name]) for function in functions]


def _of(function: Function, cases: Sequence[Case]) -> FunctionCoverage:
    known = function.operator in oracles()
    holes = [] if known else [Hole("oracle", "no oracle knows the right values")]
    holes += _dtype_holes(function, cases)
    holes += _axis_holes(function, cases)
    counts = Counter((case.dtype, case.axis) for case in cases)
    return FunctionCoverage(function.name, function.family, lead_dtypes(function), known, counts, tuple(holes))


def _dtype_holes(function: Function, cases: Sequence[Case]) -> Iterator[Hole]:
    reached: dict[str, set[str]] = {}
    for case in cases:
        if case.expect == SUCCESS:
            for name, value in case.arguments.items():
                reached.setdefault(name, set()).update(_dtypes(value))
    for param in function.params:
        if param.type not in ("tensor", "tensors") or not isinstance(param.dtype, DtypeList):
            continue
        missing = [d for d in param.dtype.dtypes if d in STORAGE and d not in reached.get(param.name, set())]
        if missing:
            yield Hole("dtype", f"{param.name} is never {' or '.join(missing)}")


def _dtypes(value: Value) -> Iterator[str]:
    if isinstance(value, (Operand, Number)):
        yield value.dtype
    elif isinstance(value, tuple):
        for item in value:
            yield from _dtypes(item)


def _axis_holes(function: Function, cases: Sequence[Case]) -> Iterator[Hole]:
    axes = {case.axis for case in cases}
    if not any(case.expect == SUCCESS for case in cases):
        yield Hole("axis", "no case has to succeed")
        return
    wanted = []
    has_tensors = any(param.type in ("tensor", "tensors") for param in function.params)
    if has_tensors:
        wanted.append(("error", "no case has to be refused"))
    if has_tensors and function.kernel is None:
        wanted.append(("strided", "no case has gaps between its elements"))
    if function.tolerance == "random":
        wanted.append(("distribution", "no case judges the distribution"))
    yield from (Hole("axis", message) for axis, message in wanted if axis not in axes)


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
        "holes": [{"kind": hole.kind, "message": hole.message} for hole in found.holes],
    }


def text(found: Sequence[FunctionCoverage], *, by: str = "dtype", holes_only: bool = False) -> str:
    """A table of functions by `dtype` or `axis` with numbers of cases, then every hole, then a summary.

    With `holes_only` the table leaves out functions without holes. In the table of dtypes a `-` stands where the spec
    does not list the dtype, a `0` where it does and no case has it.
    """
    if by == "dtype":
        named = {dtype for row in found for dtype in (*row.dtypes, *(key[0] for key in row.counts))}
        columns = [dtype for dtype in (*STORAGE, "none") if dtype in named]
    else:
        columns = list(dict.fromkeys(key[1] for row in found for key in row.counts))
    header = ["function", "oracle", "cases", *columns]
    rows = [_row(row, columns, by) for row in found if row.holes or not holes_only]
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in [header, *rows]
    ]
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    holes = [f"{row.function}: {hole.message} ({hole.kind})" for row in found for hole in row.holes]
    return "\n".join([*lines, "", *holes, *([""] if holes else []), summary(found)]) + "\n"


def _row(row: FunctionCoverage, columns: Sequence[str], by: str) -> list[str]:
    place = 0 if by == "dtype" else 1
    counts: Counter[str] = Counter()
    for key, count in row.counts.items():
        counts[key[place]] += count
    cells = [str(counts[name]) if counts[name] or (by == "dtype" and name in row.dtypes) else "-" for name in columns]
    return [row.function, "yes" if row.has_oracle else "no", str(row.cases), *cells]


def summary(found: Sequence[FunctionCoverage]) -> str:
    """One line: how much is reached, and how many holes there are of each kind."""
    kinds = Counter(hole.kind for row in found for hole in row.holes)
    holes = ", ".join(f"{kinds[kind]} of {kind}" for kind in ("oracle", "dtype", "axis") if kinds[kind])
    whole = sum(not row.holes for row in found)
    cases = sum(row.cases for row in found)
    return f"{len(found)} functions, {cases} cases; {whole} functions without a hole; holes: {holes or 'none'}"
