"""Looser tolerances of the file of known exceptions as declarations of the chip's file, which bounds follow from."""

from __future__ import annotations

import math
from collections.abc import Sequence

from diopigen.conformance.cases.suite import cases_of, tested
from diopigen.conformance.compare.bounds import bound_of
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.run.exceptions import Known, operand_dtypes
from diopigen.contract.dtypes import MANTISSA
from diopigen.contract.tolerance import ACCUMULATING, ELEMENTWISE, MULTIPLYING, epsilon
from diopigen.diagnostics import Sink
from diopigen.ir.model import Function, Interface

_TERMS = 64
"""Terms of a product for which a number of bits is as wide as a factor."""


def free_factors(known: Sequence[Known], interface: Interface, sink: Sink) -> None:
    """Notes each entry with a factor, and what the chip's file would declare in its place."""
    for entry in known:
        if entry.waiver.kind != "tolerance":
            continue
        functions = [one for one in tested(interface) if entry.may_name(one.name)]
        proposals = [text for one in functions for text in _proposed(entry, one, _dtypes(entry, interface, one))]
        if proposals:
            message = f"'{entry.glob}' has a bound times {entry.waiver.factor:g}, which follows from no algorithm"
            fix = f"declare it under 'accuracy' in the chip's file: {'; '.join(proposals[:3])}"
            sink.note("exception-free-factor", message, entry.span, fix=fix)


def _dtypes(entry: Known, interface: Interface, function: Function) -> list[str]:
    """The floating dtypes of the cases of a function that an entry names."""
    found = {
        dtype
        for case in cases_of(interface, function)
        if case.expect == SUCCESS and entry.names(case)
        for dtype in operand_dtypes(case)
    }
    return [dtype for dtype in MANTISSA if dtype in found]


def _proposed(entry: Known, function: Function, dtypes: Sequence[str]) -> list[str]:
    """Declarations equivalent to a factor, dtype by dtype: the bound of the function's class times the factor."""
    factor, tolerance = entry.waiver.factor, function.tolerance
    found = []
    for dtype in dtypes:
        eps = epsilon(dtype)
        if tolerance in MULTIPLYING:
            # 2 * 2^(1-p) is the bound of the class times the factor.
            bits = math.floor(2 - math.log2(factor * bound_of(tolerance, dtype, _TERMS).scaled))
            claim = f"product_bits: {max(1, min(bits, MANTISSA[dtype] - 1))}"
        elif tolerance in ELEMENTWISE | ACCUMULATING:
            bound = bound_of(tolerance, dtype)
            parts = bound.relative + bound.scaled if tolerance in ELEMENTWISE else max(bound.relative, bound.scaled)
            claim = f"ulp: {math.ceil(factor * parts / eps)}"
        else:
            continue
        found.append(f"{{functions: [{function.name}], dtypes: [{dtype}], {claim}}}")
    return found
