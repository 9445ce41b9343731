"""Coverage by dtype and layout: what a kernel takes as it is, what a shim converts, what goes to the fallback.

It follows from the chip's file, from the rules of the shims, and from the dtypes that the spec has for the primary
tensor of a function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diopigen.chip.model import Chip, NativeOperator
from diopigen.config.grammar import TENSOR_TYPES
from diopigen.config.model import FunctionRule, TensorRule
from diopigen.conformance.cases.choices import primary_dtypes, primary_parameter
from diopigen.contract.dtype_rules import alternatives, evaluate
from diopigen.emit.adaptor.rules import formats_of_rule
from diopigen.ir.model import DtypeRule, Function, Interface, Parameter
from diopigen.vendor.coverage import Coverage

FORMS = ("row-major", "channels-last", "strided")
"""Layouts of a tensor with four dimensions: its own order, that of images in many frameworks, and any other strides."""
_KERNEL = frozenset({"native", "shim"})


@dataclass(frozen=True, slots=True)
class TypeCoverage:
    """One function: the state (`coverage.STATES`) of each dtype of its primary tensor, and of each layout. A layout has
    the state that a call in a dtype with a kernel has."""

    name: str
    dtypes: Mapping[str, str]
    layouts: Mapping[str, str]


def cover_types(
    interface: Interface, report: Coverage, chip: Chip, rules: Mapping[str, FunctionRule]
) -> tuple[TypeCoverage, ...]:
    """The functions of a report, in its order; those without a tensor have no dtypes."""
    native = {operator.name: operator for operator in chip.operators}
    found = []
    for item in report.functions:
        function = interface.function(item.name)
        if function is None or primary_parameter(function) is None:
            continue
        dtypes = primary_dtypes(function)
        if item.state not in _KERNEL:
            states = dict.fromkeys(dtypes, item.state)
            found.append(TypeCoverage(item.name, states, dict.fromkeys(FORMS, item.state)))
            continue
        operator = native.get(item.name, NativeOperator(item.name))
        found.append(_of_kernel(function, chip, operator, rules.get(item.name), dtypes))
    return tuple(found)


def _of_kernel(
    function: Function, chip: Chip, operator: NativeOperator, rule: FunctionRule | None, dtypes: tuple[str, ...]
) -> TypeCoverage:
    primary = primary_parameter(function)
    assert primary is not None
    tensors = {} if rule is None else {tensor.param: tensor for tensor in rule.tensors}
    own = tensors.get(primary.name, TensorRule(primary.name))
    accepted = chip.dtypes_of(operator)
    stored = (*accepted, *chip.dtypes)
    states = {}
    for dtype in dtypes:
        found = {_state((dtype,), own, accepted)}
        for param in function.params:
            allowed = _following(function, param, primary.name, dtype)
            if allowed:
                found.add(_state(allowed, tensors.get(param.name, TensorRule(param.name)), stored))
        states[dtype] = next(state for state in ("fallback", "shim", "native") if state in found)
    row_major, channels_last = formats_of_rule(own, 4)
    free = not row_major and not channels_last
    layouts = {
        "row-major": "native" if free or row_major else "shim",
        "channels-last": "native" if free or channels_last else "shim",
        "strided": "native" if free else "shim",
    }
    return TypeCoverage(function.name, states, layouts)


def _state(allowed: Sequence[str], rule: TensorRule, accepted: Sequence[str]) -> str:
    """The best state of a tensor that may have any of some dtypes."""
    targets = {cast.source: cast.target for cast in rule.casts}
    if any(dtype in accepted and dtype not in targets for dtype in allowed):
        return "native"
    return "shim" if any(targets.get(dtype, dtype) in accepted for dtype in allowed) else "fallback"


def _following(function: Function, param: Parameter, primary: str, dtype: str) -> Sequence[str]:
    """The dtypes that a tensor may have where the primary one has `dtype`; empty where that is not all it follows from,
    for tensors that may be null, and for the primary one."""
    if param.name == primary or param.type not in TENSOR_TYPES or param.nullable:
        return ()
    if not isinstance(param.dtype, DtypeRule):
        return () if param.dtype is None else param.dtype.dtypes

    def operands(name: str) -> Sequence[tuple[str, int | None]]:
        other = function.param(name)
        if other is None or other.type not in TENSOR_TYPES:
            raise LookupError(name)
        if name == primary:
            return ((dtype, 1),)
        if isinstance(other.dtype, DtypeRule):
            return ((evaluate(other.dtype.formula.expression, operands), 1),)
        raise LookupError(name)

    try:
        return alternatives(param.dtype.formula.expression, operands)
    except LookupError:
        return ()


def totals(functions: tuple[TypeCoverage, ...], kind: str) -> Mapping[str, Counter[str]]:
    """Functions by dtype (`dtypes`) or layout (`layouts`), and state."""
    found: dict[str, Counter[str]] = {}
    for item in functions:
        for name, state in getattr(item, kind).items():
            found.setdefault(name, Counter())[state] += 1
    return found


def as_json(functions: tuple[TypeCoverage, ...]) -> dict[str, Any]:
    """The totals and the functions, for machines."""
    return {
        "dtypes": {name: dict(states) for name, states in totals(functions, "dtypes").items()},
        "layouts": {name: dict(states) for name, states in totals(functions, "layouts").items()},
        "types": [
            {"name": item.name, "dtypes": dict(item.dtypes), "layouts": dict(item.layouts)} for item in functions
        ],
    }
