"""Calls that a vendor's shims convert: which, what has to come of them, and that wrong results are still found."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from diopigen.config.model import Cast, FunctionRule, TensorRule
from diopigen.conformance.cases.conversions import with_conversions
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.compare.order import Stored
from diopigen.conformance.dtypes import encode
from diopigen.conformance.model import SUCCESS, Case, Conversion
from diopigen.conformance.oracles import Call
from diopigen.conformance.run.views import View, converted, flushed, loses_integers
from diopigen.diagnostics import Span
from diopigen.ir.model import Interface

HERE = Span("convert_config.yaml", 3)


def cases(interface: Interface, name: str, casts: dict[str, str], params: Iterable[str] = ()) -> dict[str, Case]:
    """The cases of a function with casts of all its tensors, or of some."""
    function = interface.function(name)
    assert function is not None
    names = list(params) or [p.name for p in function.params if p.type in ("tensor", "tensors")]
    entries = tuple(Cast(source, target, HERE) for source, target in casts.items())
    rule = FunctionRule(name, tuple(TensorRule(param, entries) for param in names))
    found = with_conversions(cases_of(interface, function), [rule], {name}, interface)
    return {case.id: case for case in found}


def test_calls_of_a_dtype_that_is_cast_are_converted_and_no_others(interface: Interface) -> None:
    found = cases(interface, "diopiSoftmax", {"float64": "float32"})
    double = found["diopiSoftmax/float64/recipe-1"].conversion
    assert double == Conversion({"out": {"float64": "float32"}, "input": {"float64": "float32"}})
    assert found["diopiSoftmax/float32/recipe-1"].conversion is None


def test_functions_without_a_kernel_are_left_alone(interface: Interface) -> None:
    function = interface.function("diopiExp")
    assert function is not None
    rule = FunctionRule("diopiExp", (TensorRule("input", (Cast("float64", "float32", HERE),)),))
    assert all(one.conversion is None for one in with_conversions(cases_of(interface, function), [rule], (), interface))


def test_a_dtype_that_becomes_legal_may_be_accepted(interface: Interface) -> None:
    found = cases(interface, "diopiMm", {"float64": "float32"})
    refusals = {key: case for key, case in found.items() if case.expect != SUCCESS}
    accepted = {key for key, case in refusals.items() if case.conversion is not None and case.conversion.accepts}
    assert "diopiMm/dtype-mat2/error" in accepted
    assert all("/dtype" in key for key in accepted), "no other rejection follows from a dtype"
    assert len(refusals) > len(accepted)


def test_what_stays_illegal_must_be_rejected(interface: Interface) -> None:
    found = cases(interface, "diopiMm", {"float64": "int32"})
    case = found["diopiMm/dtype-mat2/error"]
    assert case.conversion is None or not case.conversion.accepts


def test_a_copy_that_hides_an_overlap(interface: Interface) -> None:
    """The shim converts the indices, and no rule is about the output, so that it does not see that they overlap."""
    found = cases(interface, "diopiEmbedding", {"int64": "int32"}, ["indices"])
    hidden = {key for key, case in found.items() if case.conversion is not None and case.conversion.hides}
    assert "diopiEmbedding/overlap-out-indices/error" in hidden
    assert all("overlap" in key and "indices" in key for key in hidden)
    # Where a rule is about both, the shim looks at both.
    both = cases(interface, "diopiEmbedding", {"int64": "int32"}, ["indices", "out"])
    assert not any(case.conversion.hides for case in both.values() if case.conversion is not None)


def call(interface: Interface, **values: object) -> Call:
    function = interface.function("diopiAdd")
    assert function is not None
    arrays = {name: np.asarray(value) for name, value in values.items()}
    dtypes = {name: str(value.dtype) for name, value in arrays.items()}
    return Call(function, arrays, dtypes, {name: value.shape for name, value in arrays.items()})


def test_the_oracle_sees_what_the_kernel_gets(interface: Interface) -> None:
    conversion = Conversion({"input": {"float64": "float32"}})
    with np.errstate(over="ignore"):
        view = converted(call(interface, input=[0.1, 1e300], other=[0.1, 0.2]), conversion)
    assert view.call.dtypes == {"input": "float32", "other": "float64"}
    assert view.call["input"].tolist() == [float(np.float32(0.1)), np.inf]
    assert view.call["other"].tolist() == [0.1, 0.2]


def test_results_are_compared_in_the_dtype_of_the_kernel(interface: Interface) -> None:
    view = View(call(interface, input=[1.0]), {"out": {"float64": "float32", "int64": "int32"}})
    seen = view.seen("out", Stored(encode(np.array([0.1]), "float64"), "float64"))
    assert seen.dtype == "float32" and seen.elements.tolist() == [np.float32(0.1)]
    small, large = (Stored(np.array([value]), "int64") for value in (-7, 2**40))
    assert view.fits("out", small) and not view.fits("out", large), "no int32 becomes 2^40"


@pytest.mark.parametrize(("value", "loses"), [(5, False), (2**31, True), (-(2**31), False)])
def test_integers_that_do_not_fit_may_be_rejected(interface: Interface, value: int, loses: bool) -> None:
    one = call(interface, input=np.array([1, value], dtype=np.int64))
    assert loses_integers(one, Conversion({"input": {"int64": "int32"}})) == loses


def test_flushed_operands(interface: Interface) -> None:
    one = call(interface, input=np.array([1e-40, -1e-45, 1.0], dtype=np.float32))
    view = flushed(one)
    assert view is not None and view.call["input"].tolist() == [0.0, 0.0, 1.0]
    assert np.signbit(view.call["input"]).tolist() == [False, True, False]
    assert flushed(call(interface, input=np.array([1.0], dtype=np.float32))) is None
