"""Calls over rows: tensors whose first dimension is a batch, which the result of a row must not depend on.

The spec's shapes tell which sizes belong together, and the oracle whether rows are independent: calls are proposed here
for each set of operands that share the first size with the outputs, and `run/batch.py` has the oracle decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from diopigen.conformance.cases.held_out import HeldOut
from diopigen.conformance.cases.legal import LegalCalls
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import SUCCESS, Case, Operand, Value, operands_of
from diopigen.contract.dtypes import kind
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Drawn

AXIS = "batch"
ROWS = (67, 9)
"""Rows of a batch: more than a block of any kernel has, or few where that is too much memory."""
PARTS = ((0, 1), (8, 9), (2, 7))
"""The rows that are called without the others: from, to."""
_ELEMENTS = 1 << 18
"""Elements of a tensor at most."""
_MOST_OPERANDS = 4
_DTYPES = {"float32": 4, "float64": 2, "float16": 2, "bfloat16": 2}
"""Recipes of a function in each dtype that batches are derived from; where there are none, those of other dtypes."""
_FACTORS, _HELD_OUT = (61, 13), 6
"""Batches are derived from the same calls with other sizes that are so many times as large, and of held-out ones."""


@dataclass(frozen=True, slots=True)
class RowCall:
    """A call whose parameters `batched` have rows."""

    case: Case
    batched: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return _rows(self.case.arguments[self.batched[0]])

    def part(self, rows: int) -> Case:
        """The call with other sizes of the batch."""
        return replace(self.case, arguments=_with_rows(self.case.arguments, self.batched, rows))


def row_calls(interface: Interface, function: Function, seed: int) -> Iterator[list[RowCall]]:
    """For each call of a function that a batch can be made of, the ways to do so, the most operands first."""
    yield from _row_calls(function, _bases(interface, function, seed))


def small_row_calls(interface: Interface, function: Function) -> Iterator[list[RowCall]]:
    """The same, of few calls in each dtype: those with the fewest bytes in an element first."""
    cases = [case for case in cases_of(interface, function) if case.axis in ("recipe", "plain")]
    dtypes = sorted({case.dtype for case in cases} & STORAGE.keys(), key=lambda dtype: (STORAGE[dtype].itemsize, dtype))
    yield from _row_calls(function, [one for dtype in dtypes for one in _spread(cases, dtype, 3)])


def _row_calls(function: Function, bases: Iterable[Case]) -> Iterator[list[RowCall]]:
    legal = LegalCalls(function)
    # Rows of a sparse matrix have drawn numbers of elements.
    has_rows = function.tolerance != "random" and not any(param.sparse for param in function.params)
    for base in bases if has_rows else ():
        found = list(_ways(function, base, legal)) if base.expect == SUCCESS else []
        if found:
            yield found


def _bases(interface: Interface, function: Function, seed: int) -> Iterator[Case]:
    cases = [case for case in cases_of(interface, function) if case.axis in ("recipe", "plain")]
    recipes = [one for dtype, count in _DTYPES.items() for one in _spread(cases, dtype, count)] or _spread(cases, "", 6)
    drawn = HeldOut(interface, seed)
    large = [next(filter(None, (drawn.enlarged(function, one, f) for f in _FACTORS)), None) for one in recipes]
    yield from (*recipes, *filter(None, large), *drawn.of(function, _HELD_OUT))


def _spread(cases: Sequence[Case], dtype: str, count: int) -> Sequence[Case]:
    """Some of the cases of a dtype, or of any, from first to last."""
    those = [case for case in cases if dtype in ("", case.dtype)]
    return those[:: -(-len(those) // count)] if those else []


def _ways(function: Function, base: Case, legal: LegalCalls) -> Iterator[RowCall]:
    arguments = base.arguments
    if any(not _is_plain(one) for one in operands_of(arguments.values())):
        return
    written = [p.name for p in function.params if p.is_written and _rows(arguments.get(p.name))]
    sizes = {_rows(arguments[name]) for name in written}
    if len(sizes) != 1:
        return
    (size,) = sizes
    read = [
        p.name for p in function.params if p.is_read and p.name not in written and _rows(arguments.get(p.name)) == size
    ][:_MOST_OPERANDS]
    reads_written = any(p.is_read for p in function.params if p.name in written)
    for count in range(len(read), -1 if reads_written else 0, -1):
        for some in combinations(read, count):
            batched = (*written, *some)
            for rows in ROWS:
                sized = _with_rows(arguments, batched, rows)
                if all(math.prod(one.shape) <= _ELEMENTS for one in operands_of(sized.values())):
                    break
            else:
                continue
            one_row = _with_rows(arguments, batched, 1)
            if legal.admits(sized) and legal.admits(one_row):
                case_id = base.id.rpartition("/")[0] + f"/{AXIS}-{base.id.rpartition('/')[2]}"
                yield RowCall(replace(base, id=case_id, axis=AXIS, arguments=sized), batched)


def _is_plain(operand: Operand) -> bool:
    return operand.alias is None and not operand.on_host and isinstance(operand.values, Drawn)


def _rows(value: Value) -> int:
    """The first size of a tensor; 0 of all else."""
    return value.shape[0] if isinstance(value, Operand) and value.shape and kind(value.dtype) != "none" else 0


def _with_rows(arguments: Mapping[str, Value], batched: tuple[str, ...], rows: int) -> dict[str, Value]:
    def sized(name: str, value: Value) -> Value:
        if not isinstance(value, Operand):
            return value
        shape = (rows, *value.shape[1:]) if name in batched else value.shape
        return replace(value, shape=shape, layout="contiguous")

    return {name: sized(name, value) for name, value in arguments.items()}
