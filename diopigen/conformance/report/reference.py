"""Data of the suite for the operator reference: a call for each function, its oracle, its number of cases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from diopigen.conformance.cases import axes
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.suite import recipe_cases, recipes_of, tested
from diopigen.conformance.cases.values import draw, seed_of
from diopigen.conformance.dtypes import decode
from diopigen.conformance.model import Case, Number, Operand, Value, operands_of
from diopigen.conformance.oracles import oracle_of, oracles
from diopigen.contract.dtypes import kind
from diopigen.emit.docs.facts import Sample, SampleNumber, SampleTensor, SampleValue
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Drawn

_PRINTED = 64
"""Elements of a tensor that an example prints."""
_PREFERRED = "float32"
_DIGITS = 3


def samples(interface: Interface) -> Mapping[str, Sample]:
    """A small call of each function that the contract accepts: of its recipes the one with the fewest elements, in
    float32 where it can be; an automatic case where the function has no recipe."""
    found: dict[str, Sample] = {}
    for function in tested(interface):
        resolver = Resolver(interface, function)
        cases: Sequence[Case] = list(recipe_cases(function, resolver, recipes_of(interface, function)))
        for choice in (cases, axes.cases(function, resolver)):
            legal = [case for case in choice if resolver.calls.admits(case.arguments)]
            if legal:
                found[function.name] = _sample(function, min(legal, key=_weight))
                break
    return found


def oracle_names(interface: Interface) -> Mapping[str, str]:
    """Source of the expected results of each function: `expression`, or the module of its oracle."""
    handwritten = oracles()
    found = {}
    for function in tested(interface):
        oracle = oracle_of(function)
        if oracle is not None:
            is_handwritten = function.operator in handwritten
            found[function.name] = oracle.__module__.rpartition(".")[2] if is_handwritten else "expression"
    return found


def case_counts(interface: Interface, derived: Callable[[Function], Sequence[Case]]) -> Mapping[str, Mapping[str, int]]:
    """The number of cases of each function by axis; `derived` gives the cases."""
    return {
        function.name: dict(Counter(case.axis for case in derived(function)).most_common())
        for function in tested(interface)
    }


def _weight(case: Case) -> tuple[bool, bool, int]:
    sizes = [math.prod(operand.shape) for operand in operands_of(case.arguments.values())]
    return case.dtype != _PREFERRED, not all(sizes), sum(sizes)


def _sample(function: Function, case: Case) -> Sample:
    source = np.random.Generator(np.random.PCG64(seed_of(case.id, 0)))
    written = {param.name for param in function.params if param.direction == "out"}
    return {name: _value(value, name in written, source) for name, value in case.arguments.items()}


def _value(value: Value, is_output: bool, source: np.random.Generator) -> SampleValue:
    if isinstance(value, Operand):
        return SampleTensor(value.dtype, value.shape) if is_output else _tensor(value, source)
    if isinstance(value, Number):
        return SampleNumber(value.value, value.dtype)
    return tuple(_value(item, is_output, source) for item in value) if isinstance(value, tuple) else value


def _tensor(operand: Operand, source: np.random.Generator) -> SampleTensor:
    """The operand with few digits where its numbers are drawn, so that they can be read."""
    drawn = operand.values if isinstance(operand.values, Drawn) else None
    is_plain = drawn is not None and drawn.distribution in ("normal", "uniform") and kind(operand.dtype) == "float"
    if math.prod(operand.shape) > _PRINTED and is_plain and drawn is not None:
        low, high = drawn.arguments if drawn.arguments else (-2.0, 2.0)
        return SampleTensor(operand.dtype, operand.shape, pattern=(float(low), float(high)))
    exact = decode(draw(operand.values, operand.shape, operand.dtype, source), operand.dtype)
    if is_plain:
        exact = np.round(exact.astype(np.float64), _DIGITS)
    return SampleTensor(operand.dtype, operand.shape, tuple(exact.ravel().tolist()))
