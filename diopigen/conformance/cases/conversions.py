"""Effects of a vendor's configuration on cases: tensors that shims convert, and the expected outcome.

The table is that of the shims (vendor/shims.py). A call is validated as it is first, so that nothing is looser than it
has to be; where that fails, as the call that the kernel gets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diopigen.config.model import FunctionRule, TensorRule
from diopigen.conformance.cases.described import describe
from diopigen.conformance.cases.resolve import dtypes_of
from diopigen.conformance.dtypes import STORAGE, rounded
from diopigen.conformance.model import SUCCESS, Case, Conversion, Operand, Value, operands_of
from diopigen.contract.arguments import Described, Tensor
from diopigen.contract.dtype_rules import alternatives
from diopigen.contract.dtypes import category
from diopigen.contract.evaluate import Contract
from diopigen.contract.functions import ONE_OF
from diopigen.ir.model import DtypeList, DtypeRule, Function, Interface, Parameter


def with_conversions(
    cases: Sequence[Case], rules: Iterable[FunctionRule], implemented: Collection[str], interface: Interface
) -> list[Case]:
    """The cases, those that shims convert with what they do. `implemented` are the functions with a kernel."""
    known = {rule.function: rule for rule in rules if rule.converts and rule.function in implemented}
    makers = {
        function.name: _Maker(function, known[function.name])
        for function in interface.functions
        if function.name in known
    }
    found = []
    for case in cases:
        maker = makers.get(case.function)
        conversion = None if maker is None else maker.conversion(case)
        found.append(case if conversion is None else replace(case, conversion=conversion))
    return found


class _Maker:
    """Effects of the rule of one function on its cases."""

    def __init__(self, function: Function, rule: FunctionRule) -> None:
        self.function = function
        self.rules = {one.param: one for one in rule.tensors}
        self.contract = Contract(function)

    def conversion(self, case: Case) -> Conversion | None:
        """Conversions of the tensors of a case; None if they have no effect. Tensors on the host are not converted."""
        operands = {name: list(operands_of([value])) for name, value in case.arguments.items()}
        if any(one.on_host for several in operands.values() for one in several):
            return None
        casts: dict[str, Mapping[str, str]] = {}
        for name, several in operands.items():
            rule = self.rules.get(name)
            used = {} if rule is None else _casts(rule, several)
            if used:
                casts[name] = used
        if not casts:
            return None
        if case.expect == SUCCESS:
            return Conversion(casts)
        accepts = not self._is_legal(case, {}) and self._is_legal(case, casts)
        return Conversion(casts, accepts, self._hides(case, casts))

    def _hides(self, case: Case, casts: Mapping[str, Mapping[str, str]]) -> bool:
        """Returns whether two tensors overlap of which the shim copies one, and of which no rule is about the other: it
        does not look at that one (docs/adaptors.md)."""
        for name, value in case.arguments.items():
            for operand in operands_of([value]):
                if operand.alias is None or not operand.shift:
                    continue
                pair = (name, operand.alias)
                ruled = [one for one in pair if one in self.rules and _demands(self.rules[one])]
                if len(ruled) == 1 and ruled[0] in casts:
                    return True
        return False

    def _is_legal(self, case: Case, casts: Mapping[str, Mapping[str, str]]) -> bool:
        """Returns whether the contract admits a call whose tensors are converted first."""
        arguments = {name: _cast(value, casts.get(name, {})) for name, value in case.arguments.items()}
        if not _dtypes_agree(self.function, arguments):
            return False
        values = dict(describe(case.arguments, self.function.name))
        return self.contract.admits({name: _described(one, casts.get(name, {})) for name, one in values.items()})


def _demands(rule: TensorRule) -> bool:
    return bool(rule.casts or rule.layouts or rule.contiguous)


def _casts(rule: TensorRule, operands: Sequence[Operand]) -> dict[str, str]:
    """The casts of a rule that concern some tensors, and whose target the suite knows."""
    dtypes = {operand.dtype for operand in operands}
    return {cast.source: cast.target for cast in rule.casts if cast.source in dtypes and cast.target in STORAGE}


def _cast(value: Any, casts: Mapping[str, str]) -> Value:
    if isinstance(value, Operand):
        return replace(value, dtype=casts.get(value.dtype, value.dtype))
    converted: Value = tuple(_cast(item, casts) for item in value) if isinstance(value, tuple) else value
    return converted


def _described(value: Described, casts: Mapping[str, str]) -> Any:
    """A described argument after the conversion: its elements are those of the call, converted."""
    if isinstance(value, tuple):
        return tuple(_described(item, casts) for item in value)
    if not isinstance(value, Tensor) or value.dtype not in casts:
        return value
    target, elements = casts[value.dtype], value.elements

    def after() -> tuple[Any, ...]:
        return tuple(rounded(np.asarray(elements()), target).tolist())

    return Tensor(value.shape, target, after)


def _dtypes_agree(function: Function, arguments: Mapping[str, Value]) -> bool:
    """Returns whether each tensor has a dtype of its list, or one that its rule allows."""
    operands = {name: dtypes_of(value) for name, value in arguments.items()}
    for param in function.params:
        dtypes = [one.dtype for one in operands_of([arguments.get(param.name)])]
        if not dtypes or "dtype" in param.free:
            continue
        if isinstance(param.dtype, DtypeList):
            if not set(dtypes) <= set(param.dtype.dtypes):
                return False
        elif isinstance(param.dtype, DtypeRule):
            try:
                possible = alternatives(param.dtype.formula.expression, lambda name: operands.get(name, []))
            except (LookupError, ValueError):
                continue
            if not all(one in possible or _is_cast(param, one, possible[0]) for one in dtypes):
                return False
    return True


def _is_cast(param: Parameter, dtype: str, usual: str) -> bool:
    """Returns whether results are cast to the dtype of an output: where its rule is more than the dtype of another
    tensor."""
    assert isinstance(param.dtype, DtypeRule)
    is_open = not param.dtype.formula.text.startswith(("same(", f"{ONE_OF}("))
    return param.direction == "out" and is_open and category(dtype) == category(usual)
