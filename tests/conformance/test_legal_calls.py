"""Calls that the suite generates: those that the contract of a function admits, each evaluated once, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from calls import call_of

from diopigen import api
from diopigen.conformance.cases import models
from diopigen.conformance.cases.legal import LegalCalls
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.suite import cases_of, select
from diopigen.conformance.model import Case, Number, Operand, Value
from diopigen.conformance.oracles import Property, answer_of
from diopigen.contract.arguments import Described
from diopigen.contract.evaluate import Contract
from diopigen.diagnostics import Sink
from diopigen.ir.model import Function, Interface
from diopigen.ir.recipe import Drawn

ROOT = Path(__file__).resolve().parents[2]


def function_of(interface: Interface, name: str) -> Function:
    found = interface.function(name)
    assert found is not None
    return found


def one(interface: Interface, case_id: str) -> Case:
    return next(c for c in cases_of(interface, function_of(interface, case_id.partition("/")[0])) if c.id == case_id)


def values_of(value: Value) -> object:
    assert isinstance(value, Operand)
    return value.values


def test_a_call_in_another_layout_is_not_evaluated_again(interface: Interface, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = []
    admits = Contract.admits

    def counted(self: Contract, values: dict[str, Described]) -> bool:
        evaluated.append(values)
        return admits(self, values)

    monkeypatch.setattr(Contract, "admits", counted)
    calls = LegalCalls(function_of(interface, "diopiAdd"))
    arguments = dict(one(interface, "diopiAdd/int32/plain").arguments)
    evaluated.clear()
    assert calls.admits(arguments)
    strided = {n: replace(v, layout="strided") if isinstance(v, Operand) else v for n, v in arguments.items()}
    assert calls.admits(strided) and len(evaluated) == 1
    # The dtype of a number counts, although 1 and 1.0 are equal.
    assert calls.admits({**arguments, "alpha": Number(1, "int64")})
    assert not calls.admits({**arguments, "alpha": Number(1.0, "float64")})


def test_integers_are_divided_by_zero_only_where_the_contract_admits_it(interface: Interface) -> None:
    without_zeros = {}
    for name in ("diopiDiv", "diopiDivInp", "diopiRemainderTensor"):
        sampled = values_of(one(interface, f"{name}/int32/special").arguments["other"])
        assert isinstance(sampled, Drawn) and sampled.distribution == "special"
        without_zeros[name] = sampled.arguments[1]
    assert without_zeros == {"diopiDiv": 0, "diopiDivInp": 1, "diopiRemainderTensor": 1}


def test_integers_in_place_are_divided_with_rounding(interface: Interface) -> None:
    """The first member of the enumeration that the contract takes, where the default breaks it."""
    assert one(interface, "diopiDivInp/int32/plain").arguments["rounding_mode"] == "RoundModeTrunc"
    assert one(interface, "diopiDivInp/float32/plain").arguments["rounding_mode"] == "RoundModeNone"


def test_a_boundary_comes_from_the_first_recipe_that_admits_it(interface: Interface) -> None:
    """The indices of the first recipe of IndexSelectBackward suit its dimension alone."""
    case = one(interface, "diopiIndexSelectBackward/float64/boundary-dim-high")
    first = one(interface, "diopiIndexSelectBackward/float32/recipe-1")
    calls = LegalCalls(function_of(interface, "diopiIndexSelectBackward"))
    assert calls.admits(case.arguments)
    assert not calls.admits({**first.arguments, "dim": case.arguments["dim"]})


def test_only_the_functions_that_are_asked_for_are_resolved(
    interface: Interface, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[str] = []
    start = Resolver.__init__

    def counted(self: Resolver, of: Interface, function: Function) -> None:
        created.append(function.name)
        start(self, of, function)

    monkeypatch.setattr(Resolver, "__init__", counted)
    tables = tuple(api.models(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), Sink()).values())
    found = select(interface, ops=["Softmax"], tables=tables)
    assert models.AXIS in {case.axis for case in found}
    assert set(created) == {case.function for case in found} == {"diopiSoftmax"}


def test_a_dropout_without_a_mask_is_compared_by_its_result(interface: Interface) -> None:
    case = one(interface, "diopiDropout/bfloat16/null-mask")
    call = call_of(interface, case)
    expected = answer_of(call)["out"]
    assert isinstance(expected, Property)
    x = call.wide("input")
    retained = np.random.default_rng(5).random(x.shape) < 0.75
    right = np.where(retained, x / 0.75, 0)
    assert expected.check(right) is None
    assert "instead of" in str(expected.check(np.where(retained, x, 0)))  # not divided by 1 - p
    assert expected.check(np.where(np.random.default_rng(5).random(x.shape) < 0.5, x / 0.75, 0)) is not None
    assert expected.check(x / 0.75) is not None  # nothing is dropped
