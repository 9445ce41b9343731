"""Both evaluators agree on shapes of outputs.

Over the accepted calls of the suite, the evaluator in Python gives the shape that the call has. The one in C++ rejects
any other, and accepts these calls (`tests/dispatch/test_validation.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sampling import picked

from diopigen.conformance.cases import suite as cases
from diopigen.conformance.cases.described import described
from diopigen.conformance.model import SUCCESS, Case
from diopigen.contract.arguments import Tensor
from diopigen.contract.evaluate import Arguments, Contract
from diopigen.contract.shapes import broadcasts_to
from diopigen.ir.model import Interface, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import Call

ROOT = Path(__file__).resolve().parents[2]
SHARES = [pytest.param(8, id="sample"), pytest.param(1, id="whole", marks=pytest.mark.slow)]


def rule_of(param: Parameter) -> str:
    rule = param.shape.formula.expression if isinstance(param.shape, ShapeRule) else None
    return rule.function if isinstance(rule, Call) else ""


def is_known(param: Parameter) -> bool:
    """Returns whether the arguments decide the shape of an output: neither the caller nor elements do."""
    if isinstance(param.shape, ShapeList):
        return all(entry.kind != "unknown" for entry in param.shape.dimensions)
    return rule_of(param) not in ("", "any")


def is_alike(param: Parameter, shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    """Returns whether they are equal, or both stand for one element; without a flag reduced dimensions may stay."""
    if shape == expected or {shape, expected} == {(), (1,)}:
        return True
    if rule_of(param) == "broadcastable":
        return broadcasts_to(shape, expected)
    is_open = rule_of(param) == "reduce" and ", true" not in str(param.shape)
    return is_open and [n for n in shape if n != 1] == [n for n in expected if n != 1]


def differences(contract: Contract, case: Case) -> Iterator[str]:
    values = described(case)
    shapes = Arguments(contract.function, values, contract).shapes
    for param in contract.function.params:
        value = values.get(param.name)
        if param.direction != "out" or value is None or not is_known(param) or "shape" in param.free:
            continue
        members = value if isinstance(value, tuple) else (value,)
        tensors = [member for member in members if isinstance(member, Tensor)]
        if len(tensors) != len(members):
            continue
        forms = [shapes_of_members(expected, len(members)) for expected in shapes.alternatives(param)]
        for member, ones in zip(tensors, zip(*forms, strict=True), strict=True):
            if not any(is_alike(param, member.shape, one) for one in ones):
                yield f"{case.id}: '{param.name}' is {member.shape}, the rule gives {' or '.join(map(str, ones))}"


def shapes_of_members(expected: Any, count: int) -> list[tuple[int, ...]]:
    """The shape of each member, which may differ from member to member; a tensor is an array of one."""
    is_each = bool(expected) and not isinstance(expected[0], int)
    return [tuple(one or ()) for one in (expected if is_each else (expected,) * count)]


@pytest.mark.parametrize("share", SHARES)
def test_outputs_of_accepted_calls_have_the_shapes_of_their_rules(interface: Interface, share: int) -> None:
    functions = [function for function in cases.tested(interface) if picked(function.name, share)]
    known = [f for f in functions if any(is_known(p) for p in f.params if p.direction == "out")]
    assert len(known) > 20
    found = []
    for function in known:
        contract = Contract(function)
        accepted = [case for case in cases.cases_of(interface, function) if case.expect == SUCCESS]
        found += [line for case in accepted for line in differences(contract, case)]
    assert found == []


BY_CALLER = {
    "Arange out", "BernoulliScalar out", "CopyInp dest", "Dropout mask", "DropoutInp mask", "Expand out", "Fill input",
    "Normal out", "NormalInp inout", "RandomInp inout", "UniformInp inout", "ZeroInp self",
}  # fmt: skip
"""Outputs whose shape the caller chooses, within constraints: those that are filled."""
BY_LIBRARY = {"DynamicPointToVoxelMmcv outlist", "Index out", "IndiceConvBackwardMmcv outlist", "Unique out"}
"""Outputs that the operator allocates, after it has read elements or in several shapes."""


def test_every_other_output_has_a_rule(interface: Interface) -> None:
    open_ones = {
        f"{function.short_name} {param.name}"
        for function in cases.tested(interface)
        for param in function.params
        if param.direction == "out" and rule_of(param) == "any"
    }
    assert open_ones == BY_CALLER | BY_LIBRARY
