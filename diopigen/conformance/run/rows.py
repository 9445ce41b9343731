"""Rows of a call: which operands have them, by the oracle, and the call of some of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diopigen.conformance.cases.rows import PARTS, RowCall
from diopigen.conformance.dtypes import Array, decode
from diopigen.conformance.model import Case
from diopigen.conformance.oracles import Answer, Call, Expected, oracle_of
from diopigen.conformance.run.frames import Frame
from diopigen.conformance.run.prepare import Prepared, Preparer
from diopigen.ir.model import Function

Rearrange = Callable[[Array], Array]
"""Rows of one array from those of another one."""
Filled = tuple[Frame, Prepared]

_CLOSE = 1e-9
"""Of float64: an oracle adds up in another order where its operands have another size."""


class Rows:
    """Prepares calls of rows."""

    def __init__(self, preparer: Preparer) -> None:
        self.preparer = preparer

    def is_independent(self, function: Function, way: RowCall) -> bool:
        """Returns whether rows of the results are results of the rows."""
        _, whole = self.preparer.frame(way.case, function)
        first, last = PARTS[-1]
        _, part = self.part(function, way, whole, first, last)
        return _agree(function, way, whole, part, lambda values: values[first:last])

    def is_repeatable(self, function: Function, way: RowCall) -> bool:
        """Returns whether the results of the rows and the same rows once more are the results of the rows twice."""
        _, whole = self.preparer.frame(way.case, function)
        _, both = self._filled(function, way, whole, way.part(2 * way.rows), _twice)
        return not both.allocating and _agree(function, way, whole, both, _twice)

    def part(self, function: Function, way: RowCall, whole: Prepared, first: int, last: int) -> tuple[Frame, Prepared]:
        """The call of some rows, with the operands that the whole call has."""
        return self._filled(function, way, whole, way.part(last - first), lambda values: values[first:last])

    def _filled(self, function: Function, way: RowCall, whole: Prepared, case: Case, rows: Rearrange) -> Filled:
        """The call of a case, with operands that `rows` makes of those of the whole call."""
        frame, ready = self.preparer.frame(case, function)
        for param in function.params:
            for block, origin in zip(ready.blocks.get(param.name, ()), whole.blocks.get(param.name, ()), strict=True):
                if block is None or origin is None or not param.is_read:
                    continue
                elements = origin.elements(origin.before)
                block.elements(block.before)[...] = rows(elements) if param.name in way.batched else elements
                if param.type == "tensor":
                    ready.values[param.name] = np.array(decode(block.elements(block.before), block.dtype))
        return frame, ready


def _agree(function: Function, way: RowCall, whole: Prepared, other: Prepared, rows: Rearrange) -> bool:
    """Returns whether the oracle's results of another call are what `rows` makes of those of the whole call."""
    oracle = oracle_of(function)
    if oracle is None:
        return False

    def answer(ready: Prepared) -> Answer:
        with np.errstate(all="ignore"):
            return oracle(Call(function, ready.values, ready.dtypes, ready.shapes))

    try:
        of_whole, of_other = answer(whole), answer(other)
    except (ValueError, IndexError, ZeroDivisionError, TypeError, AssertionError, KeyError):
        return False  # these operands do not go together
    pairs = [(of_whole.get(name), of_other.get(name)) for name in way.batched]
    pairs = [pair for pair in pairs if pair != (None, None)]
    return bool(pairs) and all(
        isinstance(one, Expected) and isinstance(two, Expected) and _alike(rows(one.values), two.values)
        for one, two in pairs
    )


def _twice(values: Array) -> Array:
    return np.concatenate([values, values])


def _alike(one: Array, two: Array) -> bool:
    return one.shape == two.shape and np.allclose(one, two, rtol=_CLOSE, atol=_CLOSE, equal_nan=one.dtype.kind in "fc")
