"""Checks the results of a call that has succeeded, as one view of it has them, against what its oracle expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diopigen.chip.accuracy import Accuracy
from diopigen.conformance.compare.order import Arrangement, Stored, arranged, selected_from
from diopigen.conformance.compare.results import bool_byte
from diopigen.conformance.compare.ulp import combined, measure
from diopigen.conformance.dtypes import decode, encode
from diopigen.conformance.model import Case, Fault, Measured
from diopigen.conformance.oracles import Allocated, Answer, Expected, Property
from diopigen.conformance.run.blocks import Block
from diopigen.conformance.run.frames import Fetched
from diopigen.conformance.run.prepare import ALLOCATED, Prepared
from diopigen.conformance.run.views import View
from diopigen.contract.dtypes import category, kind
from diopigen.ir.model import Function, Parameter

Declared = Callable[[Function, str], "Accuracy | None"]
"""Declared accuracy of a function in a dtype."""


@dataclass(frozen=True, slots=True)
class Standard:
    """Bound of results: that of their class times `factor`, or the declared accuracy of a chip."""

    declared: Declared | None = None
    factor: float = 1.0


class ValueCheck:
    """The results of one call in one view, held to one standard. `usual` is what the oracle says of the call as it is,
    where another view is checked: it has the dtypes of tensors that are allocated."""

    def __init__(
        self,
        case: Case,
        ready: Prepared,
        view: View,
        standard: Standard,
        usual: Answer | None = None,
    ) -> None:
        self.case, self.ready, self.view, self.standard = case, ready, view, standard
        self.usual = usual or {}
        self.function: Function = ready.function
        self.arranged = Arrangement()
        self.sources: dict[str, None] = {}
        """The entries of the chip's file that results were held to."""
        self._pairs: list[tuple[str, Stored, Expected]] = []
        """Compared data: the dtype of the tensor, its elements and the expected ones."""

    def faults(self, answer: Answer) -> list[Fault]:
        """Describes the error of the results, compared with the oracle in this view."""
        function, ready = self.function, self.ready
        faults: list[Fault] = []
        unordered = [p.name for p in function.params if p.unordered is not None or p.ties is not None]
        results = {name: stored for name in unordered if (stored := self._stored(name)) is not None}
        blocks = {name: ready.blocks[name][0] for name in selected_from(function)}
        inputs = {
            name: self.view.seen(name, Stored(block.elements(block.before), block.dtype))
            for name, block in blocks.items()
            if block
        }
        self.arranged = arranged(self.case, function, results, answer, inputs)
        for name, expected in answer.items():
            param = function.param(name)
            assert param is not None, f"the oracle of {function.operator} answers for '{name}'"
            if expected is None:
                continue
            if param.type in ALLOCATED:
                faults += self._all_allocated(param, expected)
            elif param.type in ("tensor", "tensors"):
                several = list(expected) if isinstance(expected, (list, tuple)) else [expected]
                for block, one in zip(ready.blocks[name], several, strict=True):
                    if block is not None and isinstance(one, Property):
                        faults += self._property_faults(name, one)
                    elif block is not None and one is not None:
                        faults += self._tensor(name, block, one)
            elif name in ready.slots and isinstance(expected, Property):
                complaint = expected.check(np.array(ready.slots[name].value))
                faults += [Fault("values", name, complaint)] if complaint else []
            elif name in ready.slots and isinstance(expected, Expected):
                number = np.array(ready.slots[name].value, dtype=np.float64)
                faults += self._compared(name, Stored(number, "float64"), expected)
            elif name in ready.slots and ready.slots[name].value != expected:
                faults.append(Fault("values", name, "wrong value", str(expected), str(ready.slots[name].value)))
        return faults

    def errors(self) -> tuple[Measured, ...]:
        """The errors of the tensors that were compared, in ULP by dtype. Exact results have none."""
        if self.function.tolerance == "exact":
            return ()
        found = []
        for dtype, stored, expected in self._pairs:
            one = measure(stored.elements, stored.dtype, expected)
            if one is not None:
                found.append(one if dtype == one.dtype else replace(one, dtype=dtype, converted=one.dtype))
        return tuple(combined(found) if len(found) > 1 else found)

    def _stored(self, name: str) -> Stored | None:
        """A tensor that is written, or that the operator has allocated; None where there is none."""
        ready = self.ready
        if name in ready.allocating:
            (fetched,) = ready.allocated(name)
            return None if fetched is None else self.view.seen(name, Stored(fetched.elements, fetched.dtype))
        block = ready.blocks[name][0] if ready.blocks.get(name) else None
        return None if block is None else self.view.seen(name, self._elements(block))

    def _elements(self, block: Block) -> Stored:
        return Stored(block.elements(self.ready.after(block)), block.dtype)

    def _tensor(self, name: str, block: Block, expected: Any) -> list[Fault]:
        stored = self._elements(block)
        if not self.view.fits(name, stored):
            target = self.view.dtype(name, stored.dtype)
            message = f"there are elements that no conversion from {target} gives"
            return [Fault("values", name, message)]
        found = self.view.seen(name, stored)
        if isinstance(expected, Expected):
            self._note(name, stored.dtype, found, expected)
        return self._compared(name, found, expected)

    def _note(self, name: str, dtype: str, stored: Stored, expected: Expected) -> None:
        one = self.arranged.of(name, stored, expected)
        if not one.selects:
            self._pairs.append((dtype, one.stored, one.expected))

    def _all_allocated(self, param: Parameter, expected: Any) -> list[Fault]:
        usual: Any = self.usual.get(param.name)
        several = [(expected, usual)]
        if param.type == "new_tensors":
            several = list(zip(expected, usual or [None] * len(expected), strict=True))
        faults: list[Fault] = []
        for fetched, (one, before) in zip(self.ready.allocated(param.name), several, strict=False):
            faults += self._allocated(param, fetched, one, before)
        return faults

    def _allocated(self, param: Parameter, fetched: Fetched | None, expected: Any, usual: Any) -> list[Fault]:
        if fetched is None:
            message = "the call succeeds without setting the tensor"
            return [Fault("missing output", param.name, message, "a tensor", "null")]
        stored, dtype, strides = fetched.elements, fetched.dtype, fetched.strides
        allocated = dtype
        assert isinstance(expected, Allocated), f"the oracle of {self.function.operator} names no dtype: {param.name}"
        if isinstance(usual, Allocated) and dtype == usual.dtype and dtype != expected.dtype:
            stored, dtype = encode(decode(stored, dtype), expected.dtype), expected.dtype
        is_free = "dtype" in param.free and category(dtype) == category(expected.dtype)
        if dtype != expected.dtype and not is_free:
            return [Fault("dtype", param.name, "wrong dtype", expected.dtype, dtype)]
        if expected.order is not None and len(expected.order) == stored.ndim and stored.size:
            dense = _dense(stored.shape, expected.order)
            if any(size > 1 and one != two for size, one, two in zip(stored.shape, strides, dense, strict=True)):
                return [Fault("strides", param.name, "wrong memory format", str(list(dense)), str(list(strides)))]
        found = Stored(stored, dtype)
        if isinstance(expected.expected, Expected):
            self._note(param.name, allocated, found, expected.expected)
        return self._compared(param.name, found, expected.expected)

    def _property_faults(self, name: str, expected: Property) -> list[Fault]:
        found = [one for other in (name, *expected.others) if (one := self._stored(other)) is not None]
        return self._complaint(name, found, expected)

    def _complaint(self, name: str, found: Sequence[Stored], expected: Property) -> list[Fault]:
        wrong_byte = bool_byte(found[0].elements, found[0].dtype, name)
        if wrong_byte is not None:
            return [wrong_byte]
        complaint = expected.check(*(decode(one.elements, one.dtype) for one in found))
        return [Fault("distribution", name, complaint)] if complaint else []

    def _compared(self, name: str, found: Stored, expected: Any) -> list[Fault]:
        if isinstance(expected, Property):
            return self._complaint(name, [found], expected)
        accuracy = None
        if self.standard.declared is not None and kind(found.dtype) in ("float", "complex"):
            accuracy = self.standard.declared(self.function, expected.precision or found.dtype)
        fault = self.arranged.fault(name, found, expected, self.function.tolerance, self.standard.factor, accuracy)
        if accuracy is not None:
            self.sources.update(dict.fromkeys(accuracy.sources))
        if fault is not None and accuracy is not None and fault.kind == "values":
            where = ", ".join(accuracy.sources)
            fault = replace(fault, message=f"{fault.message}; worse than declared: {accuracy} ({where})")
        return [fault] if fault else []


def _dense(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps, in elements, of dimensions that are in memory in an order from the outermost."""
    strides = [1] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)
