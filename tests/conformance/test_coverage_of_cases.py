"""The coverage report: whole texts for a few functions, and that each kind of hole is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner
from sampling import first

from diopigen.cli import cli
from diopigen.conformance.cases.suite import cases_of, matching
from diopigen.conformance.cases.suite import tested as functions_of
from diopigen.conformance.model import Case, Operand
from diopigen.conformance.report.coverage import coverage, summary, text, to_record
from diopigen.ir.model import Function, Interface


def function_of(interface: Interface, name: str) -> Function:
    found = interface.function(name)
    assert found is not None
    return found


def case(name: str, dtype: str, axis: str, expect: str = "diopiSuccess") -> Case:
    operand = Operand((2,), dtype)
    arguments = {"out": replace(operand, dtype="bool"), "input": operand}
    return Case(f"{name}/{dtype}/{axis}", name, "elementwise_unary", dtype, axis, arguments, expect)


def test_a_function_that_is_reached_everywhere_has_no_hole(interface: Interface) -> None:
    for name in ("diopiAdd", "diopiAddInp", "diopiUniformInp", "diopiSoftmax"):
        function = function_of(interface, name)
        (found,) = coverage([function], cases_of(interface, function), interface.not_covered)
        assert found.holes == (), name
        assert found.has_oracle and found.cases == len(cases_of(interface, function))


TEXT = """\
function       oracle  cases  uint8  int8  int16  int32  int64  float16  bfloat16  float32  float64
---------------------------------------------------------------------------------------------------
diopiReluLike      no      3      1     0      0      0      0        0         0        2        0

diopiReluLike: no oracle knows the right values (oracle)
diopiReluLike: input is never int8 or int16 or int32 or int64 or float16 or bfloat16 or float64 (dtype)
diopiReluLike: no case has to be refused (axis)
diopiReluLike: no case has gaps between its elements (axis)

1 functions, 3 cases; 0 functions without a hole; holes: 1 of oracle, 1 of dtype, 2 of axis
"""


def test_holes_are_named(interface: Interface) -> None:
    relu = function_of(interface, "diopiRelu")
    like = replace(relu, name="diopiReluLike", operator="ReluLike", params=tuple(relu.params[1:]), kernel=None)
    name = like.name
    cases = [case(name, "float32", "plain"), case(name, "float32", "empty"), case(name, "uint8", "plain")]
    found = coverage([like], cases, interface.not_covered)
    assert text(found) == TEXT
    assert to_record(found[0])["dtypes"]["float32"] == {"plain": 1, "empty": 1}
    assert to_record(found[0])["dtypes"]["int64"] == {}


def test_a_rejected_call_reaches_no_dtype(interface: Interface) -> None:
    relu = function_of(interface, "diopiRelu")
    (found,) = coverage([relu], [case("diopiRelu", "float32", "error", "any failure")], interface.not_covered)
    assert [(hole.kind, hole.message) for hole in found.holes if hole.kind == "axis"] == [
        ("axis", "no case has to succeed")
    ]
    assert any("float32" in hole.message for hole in found.holes if hole.kind == "dtype")
    (found,) = coverage([relu], [], interface.not_covered)
    assert found.cases == 0 and found.holes


def test_axes_that_belong_to_a_function(interface: Interface) -> None:
    for name, axis, message in (
        ("diopiSoftmax", "strided", "no case has gaps between its elements"),
        ("diopiUniformInp", "distribution", "no case checks the distribution"),
        ("diopiSoftmax", "error", "no case has to be refused"),
    ):
        function = function_of(interface, name)
        cases = [one for one in cases_of(interface, function) if one.axis != axis]
        (found,) = coverage([function], cases, interface.not_covered)
        assert message in [hole.message for hole in found.holes], name


@pytest.mark.parametrize("by", first(["dtype", "axis"]))
def test_the_command(by: str) -> None:
    arguments = ["conformance", "coverage", "--ops", "diopiAdd", "--ops", "diopiSoftmax", "--by", by]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    rows = {line.split()[0] for line in done.output.splitlines() if line}
    assert {"function", "diopiAdd", "diopiSoftmax"} <= rows
    assert ("broadcast" in done.output.splitlines()[0]) == (by == "axis")
    done = CliRunner().invoke(cli, [*arguments, "--format", "json", "--strict"])
    document = json.loads(done.output)
    assert [row["function"] for row in document["functions"]] == ["diopiAdd", "diopiSoftmax"]
    assert document["functions"][0]["dtypes"]["float32"]["plain"] == 1
    assert done.exit_code == 0
    one_axis = [*arguments, "--axis", "plain", "--strict"]
    assert CliRunner().invoke(cli, one_axis).exit_code == 1, "the axis of refusals is left out"


def test_what_is_not_covered_has_a_reason(interface: Interface) -> None:
    relu = function_of(interface, "diopiRelu")
    new = replace(relu, name="diopiNewOperator", operator="NewOperator", cases=(), kernel=None)
    found = coverage([new], [], {new.header: "the operators are an example"})
    assert [row.unknown for row in found] == [()]
    assert "known: the operators are an example:\n  diopiNewOperator" in text(found)
    assert "holes: none; known ones: 1 of oracle" in summary(found)


def test_nothing_else_is_a_hole(interface: Interface, derived: Callable[[Function], Sequence[Case]]) -> None:
    """All functions are reached as the suite promises."""
    functions = functions_of(interface)
    cases = [case for function in functions for case in derived(function)]
    found = coverage(functions, cases, interface.not_covered)
    assert [f"{row.function}: {hole.message}" for row in found for hole in row.unknown] == []
    assert [row.function for row in found if not row.has_oracle] == []
    assert len(found) == 565


def test_the_summary_counts(interface: Interface) -> None:
    relu = function_of(interface, "diopiRelu")
    assert summary(coverage([relu], cases_of(interface, relu), interface.not_covered)).endswith(
        "cases; 1 functions without a hole; holes: none"
    )


def test_a_new_function_without_cases_is_a_hole(interface: Interface) -> None:
    """An operator that is named counts, whether or not there are cases for it: that there are none is the finding."""
    relu = interface.function("diopiRelu")
    assert relu is not None
    new = replace(relu, name="diopiNewOperator", operator="NewOperator", cases=(), kernel=None)
    headers = tuple(replace(h, functions=(*h.functions, new)) for h in interface.headers[:1])
    (found,) = matching(replace(interface, headers=headers), ["NewOperator"], ())
    assert found is new
    (row,) = coverage([found], [], interface.not_covered)
    assert {hole.message for hole in row.unknown} >= {"no oracle knows the right values", "no case has to succeed"}
    assert "holes: 1 of oracle" in summary([row])
