"""Unspecified results have no case; each entry of `unspecified` and each `example` has an effect on the cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diopigen.conformance.cases import suite
from diopigen.conformance.cases.examples import is_sized_by_numbers, other_modes
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.model import Case, Number
from diopigen.ir.model import Function, Interface
from diopigen.spec.grammar_operators import UNSPECIFIED


def function_of(interface: Interface, name: str) -> Function:
    found = interface.function(name)
    assert found is not None
    return found


def ids(interface: Interface, function: Function) -> list[str]:
    return [case.id for case in cases_of(interface, function)]


def forms(interface: Interface, operator: str) -> list[Function]:
    return [function for function in suite.tested(interface) if function.operator == operator]


@pytest.mark.parametrize("word", UNSPECIFIED)
def test_each_entry_leaves_cases_out(interface: Interface, word: str) -> None:
    """An entry without which the suite has the same cases is about nothing: it is one to remove."""
    operators = sorted({f.operator for f in suite.tested(interface) if word in f.unspecified})
    assert operators
    idle = []
    for operator in operators:
        for function in forms(interface, operator):
            rest = tuple(other for other in function.unspecified if other != word)
            if arguments(interface, function) != arguments(interface, replace(function, unspecified=rest)):
                break
        else:
            idle.append(operator)
    assert idle == []


def arguments(interface: Interface, function: Function) -> dict[str, object]:
    return {case.id: case.arguments for case in cases_of(interface, function)}


def test_each_example_is_passed(interface: Interface) -> None:
    examples = {
        (f.operator, p.name): p.example for f in suite.tested(interface) for p in f.params if p.example is not None
    }
    assert len(examples) >= 9
    passed = {
        (function.operator, name)
        for function in suite.tested(interface)
        for name in [param.name for param in function.params if (function.operator, param.name) in examples]
        if any(is_passed(case, name, examples[function.operator, name].value) for case in cases_of(interface, function))
    }
    assert passed == set(examples)


def is_passed(case: Case, name: str, value: object) -> bool:
    number = case.arguments.get(name)
    return case.axis == "plain" and isinstance(number, Number) and number.value == value


def test_special_values_stay_out_where_nothing_is_agreed(interface: Interface) -> None:
    function = function_of(interface, "diopiConvolution2d")
    assert not [name for name in ids(interface, function) if "/special" in name]
    open_ones = replace(function, unspecified=())
    assert [name for name in ids(interface, open_ones) if "/special" in name]


def test_an_operator_sized_by_numbers_is_known_by_its_contract(interface: Interface) -> None:
    """By a dimension of its output, by a constraint on the output's size; a scalar that broadcasts does not count."""
    sized = {f.operator for f in suite.tested(interface) if f.kernel is not None and is_sized_by_numbers(f)}
    assert sized == {"Arange", "Linspace", "SetupTopkRuntimeArgsInp", "SetupToppRuntimeArgsInp"}
    assert not is_sized_by_numbers(function_of(interface, "diopiAddScalar"))


def test_a_mode_is_replaced_where_its_default_breaks_a_constraint(interface: Interface) -> None:
    """Integers in place have no true quotient: the first mode that rounds is passed, in the order of the enum."""
    function = function_of(interface, "diopiDivInp")
    modes = [mode["rounding_mode"] for mode in other_modes(interface, function)]
    assert modes == ["RoundModeTrunc", "RoundModeFloor", "RoundModeEND"]
    plain = {
        case.dtype: case.arguments["rounding_mode"] for case in cases_of(interface, function) if case.axis == "plain"
    }
    assert (plain["int32"], plain["float32"]) == ("RoundModeTrunc", "RoundModeNone")
