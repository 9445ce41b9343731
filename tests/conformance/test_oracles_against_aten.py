"""The oracles against ATen: every function for which the spec names an overload, on the suite's own cases.

What a call of ATen takes follows from the spec's overloads and torch's own schemas (`aten_binding`), so that a function
is compared without a line here. The tables below hold what is not, each with its reason. Needs the `torch` extra.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from calls import Results, call_of

pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

from aten_binding import HALVES, BindingError, bind, stored
from test_oracles_against_torch import PROBABILITY_OF_ZERO

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.cases.suite import tested as tested_functions
from diopigen.conformance.model import SUCCESS, Case
from diopigen.conformance.oracles import Allocated, Call, Expected, Property, answer_of, oracle_of
from diopigen.emit.torch.binding import matched
from diopigen.ir.aten import parse_schema
from diopigen.ir.model import Function, Interface

_ELSEWHERE = "torch has kernels for devices only"
NOT_COMPARED: dict[str, str] = {
    "BatchNormStats": _ELSEWHERE,
    "BatchNormGatherStatsWithCounts": _ELSEWHERE,
    "BatchNormBackwardReduce": _ELSEWHERE,
    "BatchNormBackwardElemt": _ELSEWHERE,
    "BatchNormElemt": _ELSEWHERE,
    "LinearBackward": _ELSEWHERE,
    "RMSNormBackward": _ELSEWHERE,
    "MatmulBackward": "ATen takes a mask of gradients and has no kernel for the CPU",
    "CTCLossBackward": "ATen leaves the reduction to its caller",
}
"""Operators with an overload that are not compared here, and why."""

_ROUNDED_ON_THE_WAY = frozenset({
    "AdaptiveAvgPool2dBackward", "AdaptiveAvgPool3d", "AdaptiveAvgPool3dBackward", "AvgPool2dBackward", "BatchNorm",
    "Col2Im", "ConvTranspose2d", "Convolution2d", "Convolution2dBackward", "CrossEntropyLoss", "EmbeddingBackward",
    "GroupNorm", "IndexPut", "LayerNorm", "LayerNormBackward", "LogSoftmax", "NLLLossV2", "Prod", "Softmax",
    "UpsampleLinear", "UpsampleLinearBackward",
})  # fmt: skip
"""Operators in which torch rounds to half precision on the way, which the interface does once at the end: halves are
compared with torch's results in float32. Convolution2d is one on processors whose oneDNN has a kernel for bfloat16; it
also multiplies infinities with the zeros that it pads channels with."""

WIDENED = {**dict.fromkeys(_ROUNDED_ON_THE_WAY, HALVES), "Gelu": {**HALVES, "float32": "float64"}}
"""Operators that are compared with torch's results in a wider dtype. torch's vector code for Gelu approximates erf to
1.5e-7, which is far more than a rounding of float32 where 1 + erf is small."""

OTHER_EDGES: dict[str, tuple[str, ...]] = {
    "Gelu": ("/special", "/recipe-3"),
    "RemainderTensor": ("/special",),
    "Div": tuple(f"Inp/{dtype}/special" for dtype in ("int8", "int16", "int32", "int64")),
    "BCELossBackward": ("float64/recipe-5", "float64/grad_output-strided", "float64/target-distant"),
    **PROBABILITY_OF_ZERO,
}  # fmt: skip
"""Cases with infinities and the like, for which torch's vector code gives NaN and its scalar code the limit. For
BCELossBackward torch keeps the least denominator, 1e-12, as a float32, 4e-9 off: float64 shows it where predictions are
0 or 1. For Div in place, whose quotient of integers is cut off, torch divides the lowest integer by -1 with a processor
instruction that ends the process on x86."""

ENOUGH = 300
"""The number of functions that must be compared."""


def _functions(interface: Interface) -> list[Function]:
    """The functions with an overload whose values an oracle knows; random ones have distributions instead."""
    known = [f for f in tested_functions(interface) if f.aten and oracle_of(f) is not None]
    return [f for f in known if f.tolerance != "random" and f.operator not in NOT_COMPARED]


def _cases(interface: Interface, function: Function) -> list[Case]:
    cases = [case for case in cases_of(interface, function) if case.expect == SUCCESS]
    left_out = OTHER_EDGES.get(function.operator, ())
    return [case for case in cases if not any(case.id.endswith(end) for end in left_out)]


def _pairs(call: Call, name: str, expected: Any, actual: Any) -> Iterator[tuple[Any, Any, str]]:
    """Expectations with torch's tensors and the dtype that they are compared in."""
    if isinstance(expected, (list, tuple)):
        yield from zip(expected, actual, call.dtypes[name], strict=True)
    elif isinstance(expected, Allocated):
        yield expected.expected, actual, expected.dtype
    else:
        yield expected, actual, call.dtypes.get(name, "float64")


def _differences(case: Case, call: Call, found: dict[str, Any]) -> tuple[int, list[str]]:
    """The number of outputs compared, and what is wrong with them."""
    with np.errstate(all="ignore"):
        answer = answer_of(call)
    compared, wrong = 0, []
    results = Results(case, call, answer, found, stored)
    for name, actual in found.items():
        for expected, tensor, dtype in _pairs(call, name, answer.get(name), actual):
            if expected is None or tensor is None:
                continue
            if isinstance(expected, Property) and not set(expected.others) <= set(results.found):
                continue
            compared += 1
            complaint: str | None
            if isinstance(expected, Property):
                complaint = results.complaint(expected, stored(tensor, dtype), dtype)
            elif isinstance(expected, Expected):
                elements = stored(tensor.reshape(np.shape(expected.values)), dtype)
                fault = results.fault(name, elements, dtype, expected)
                complaint = f"{fault.message}: oracle {fault.expected}, torch {fault.actual}" if fault else None
            else:
                complaint = None if expected == tensor else f"oracle {expected}, torch {tensor}"
            wrong += [f"{name}: {complaint}"] if complaint else []
    return compared, wrong


_REFUSALS = (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError)
"""Exceptions of torch for a dtype or a layout that its kernels for the CPU do not support."""


def _compared(interface: Interface, function: Function) -> tuple[int, list[str]]:
    compared, wrong, reasons = 0, [], []
    for case in _cases(interface, function):
        call = call_of(interface, case)
        try:
            found = bind(call, widened=WIDENED.get(function.operator)).run()
        except (BindingError, *_REFUSALS) as reason:
            reasons.append(f"{case.id}: {str(reason).splitlines()[0]}")
            continue
        count, differences = _differences(case, call, found)
        compared += count
        wrong += [f"{case.id}: {difference}" for difference in differences]
    return compared, wrong or ([] if compared else reasons[:3] or ["no case"])


PARTS = 16
"""The functions are compared in so many tests, so that the processes of pytest-xdist share the work."""


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_every_oracle_agrees_with_aten(interface: Interface, part: int) -> None:
    functions = _functions(interface)
    assert len(functions) >= ENOUGH
    outcome = {function.name: _compared(interface, function) for function in functions[part::PARTS]}
    assert {name: wrong[:3] for name, (_, wrong) in outcome.items() if wrong} == {}
    assert all(compared for compared, _ in outcome.values())


def test_the_generator_pairs_arguments_as_torch_does(interface: Interface) -> None:
    """The pairs that give right results above come from the schemas of the installed torch, those of the generator from
    the spec and its snapshot."""
    compared, wrong = 0, []
    for function in _functions(interface):
        for case in _cases(interface, function):
            try:
                bound = bind(call_of(interface, case))
            except BindingError:
                continue
            schema = bound.overload._schema
            name = schema.name.removeprefix("aten::") + (f".{schema.overload_name}" if schema.overload_name else "")
            if name not in {overload.name for overload in function.aten}:
                continue  # what computes the same on the CPU
            own = {
                param: one.name for param, one in matched(function, parse_schema(interface.aten.schemas[name])).items()
            }
            compared += 1
            other = {param: own[param] for param in own.keys() & bound.names.keys() if own[param] != bound.names[param]}
            wrong += [f"{function.name}, {name}: {other}, torch {bound.names}"] if other else []
            break
    assert wrong == []
    assert compared >= ENOUGH


def test_what_is_not_compared_has_an_overload(interface: Interface) -> None:
    """An entry of the tables that nothing needs is a mistake."""
    named = {function.operator for function in tested_functions(interface) if function.aten}
    assert set(NOT_COMPARED) | set(WIDENED) | set(OTHER_EDGES) <= named
    assert not set(NOT_COMPARED) & (set(WIDENED) | set(OTHER_EDGES))


def test_every_expression_with_an_overload_is_compared(interface: Interface) -> None:
    """The kernels of the reference library come from the same expressions, so that only ATen can show them right: no
    elementwise operator may be left out. Special values and integers are among the cases."""
    with_kernel = [f for f in tested_functions(interface) if f.kernel is not None and f.aten]
    compared = {function.name for function in _functions(interface)}
    assert {function.name for function in with_kernel} - compared == set()
    cases = [case for function in with_kernel for case in _cases(interface, function)]
    assert {"special", "recipe"} <= {case.axis for case in cases}
    assert {"bool", "uint8", "int64", "float16", "float64", "complex128"} <= {case.dtype for case in cases}
