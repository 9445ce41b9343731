"""Rows of a call: which operands have them, by the oracle, and the call of some of them."""

from __future__ import annotations

import numpy as np

from diopigen.conformance.cases.rows import PARTS, RowCall
from diopigen.conformance.dtypes import Array, decode
from diopigen.conformance.oracles import Answer, Call, Expected, oracle_of
from diopigen.conformance.run.frames import Frame
from diopigen.conformance.run.prepare import Prepared, Preparer
from diopigen.ir.model import Function

_CLOSE = 1e-9
"""Of float64: an oracle adds up in another order where its operands have another size."""


class Rows:
    """Prepares calls of rows."""

    def __init__(self, preparer: Preparer) -> None:
        self.preparer = preparer

    def is_independent(self, function: Function, way: RowCall) -> bool:
        """Returns whether rows of the results are results of the rows."""
        oracle = oracle_of(function)
        if oracle is None:
            return False
        _, whole = self.preparer.frame(way.case, function)
        first, last = PARTS[-1]
        part = self.part(function, way, whole, first, last)[1]

        def answer(ready: Prepared) -> Answer:
            assert oracle is not None
            with np.errstate(all="ignore"):
                return oracle(Call(function, ready.values, ready.dtypes, ready.shapes))

        try:
            of_whole, of_part = answer(whole), answer(part)
        except (ValueError, IndexError, ZeroDivisionError, TypeError, AssertionError, KeyError):
            return False  # these operands do not go together
        pairs = [(of_whole.get(name), of_part.get(name)) for name in way.batched]
        pairs = [pair for pair in pairs if pair != (None, None)]
        return bool(pairs) and all(
            isinstance(one, Expected) and isinstance(two, Expected) and _alike(one.values[first:last], two.values)
            for one, two in pairs
        )

    def part(self, function: Function, way: RowCall, whole: Prepared, first: int, last: int) -> tuple[Frame, Prepared]:
        """The call of some rows, with the operands that the whole call has."""
        frame, ready = self.preparer.frame(way.part(last - first), function)
        for param in function.params:
            for block, origin in zip(ready.blocks.get(param.name, ()), whole.blocks.get(param.name, ()), strict=True):
                if block is None or origin is None or not param.is_read:
                    continue
                elements = origin.elements(origin.before)
                block.elements(block.before)[...] = elements[first:last] if param.name in way.batched else elements
                if param.type == "tensor":
                    ready.values[param.name] = np.array(decode(block.elements(block.before), block.dtype))
        return frame, ready


def _alike(one: Array, two: Array) -> bool:
    return one.shape == two.shape and np.allclose(one, two, rtol=_CLOSE, atol=_CLOSE, equal_nan=one.dtype.kind in "fc")
