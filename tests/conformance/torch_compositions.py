"""Compares oracles with compositions of plain torch operators in float64. Importing it skips a test module where torch
is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from calls import call_of

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import encode
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Allocated, Call, Expected, Property, answer_of
from diopigen.ir.model import Function, Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

Found = Mapping[str, Any]


class Arguments:
    """The arguments of a call as torch takes them: numbers in float64, integers in int64, floats of C rounded."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __getattr__(self, name: str) -> Any:
        value = self.call.values.get(name)
        param = self.call.function.param(name)
        if param is not None and param.type == "float" and value is not None:
            return float(np.float32(value))
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype.kind == "b":
            return torch.from_numpy(np.array(value))
        return torch.from_numpy(np.array(value, np.int64 if value.dtype.kind == "i" else np.float64))


def function_of(interface: Interface, operator: str) -> Function:
    """The function of an operator."""
    found = interface.function(f"diopi{operator}")
    assert found is not None
    return found


def gradients(forward: Callable[..., Any], variables: Sequence[Any], grads: Any) -> list[Any]:
    """Autograd in float64, nothing from where the results do not depend on a variable."""
    leaves = [variable.clone().requires_grad_() for variable in variables]
    results = forward(*leaves)
    if not any(one.requires_grad for one in (results if isinstance(results, tuple) else (results,))):
        return [torch.zeros_like(leaf) for leaf in leaves]
    found = torch.autograd.grad(results, leaves, grads, allow_unused=True)
    return [torch.zeros_like(leaf) if one is None else one for leaf, one in zip(leaves, found, strict=True)]


_LARGEST = 20_000
"""The most numbers of a case: compositions go element by element, and small cases have every form of a call."""


def assert_agreement(
    interface: Interface, operator: str, composition: Callable[[Arguments], Found], least: int = 10
) -> None:
    """The oracle of an operator and a composition agree on all cases but large ones, within the bound of the
    operator."""
    function = function_of(interface, operator)
    wrong: list[str] = []
    compared = 0
    for case in cases_of(interface, function):
        if case.expect != SUCCESS or case.axis == "special":
            continue
        call = call_of(interface, case)
        if sum(value.size for value in call.values.values() if isinstance(value, np.ndarray)) > _LARGEST:
            continue
        found = composition(Arguments(call))
        for name, expected, dtype in _expectations(call):
            compared += 1
            elements = np.asarray(encode(found[name].numpy(), dtype))
            if isinstance(expected, Property):
                complaint = expected.check(elements, *(np.asarray(found[one]) for one in expected.others))
                wrong += [f"{case.id}: {name} {complaint}"] if complaint else []
                continue
            fault = compare(elements, dtype, expected, function.tolerance, name)
            if fault is not None:
                wrong.append(f"{case.id}: {name} {fault.message}: oracle {fault.expected}, torch {fault.actual}")
    assert compared >= least
    assert not wrong, "\n".join(wrong[:8])


def _expectations(call: Call) -> Iterator[tuple[str, Expected | Property, str]]:
    """Each output with what it must hold and its dtype; those of a list are called by list and number."""
    for name, expected in answer_of(call).items():
        if isinstance(expected, Allocated):
            yield name, expected.expected, expected.dtype
        elif isinstance(expected, (Expected, Property)):
            yield name, expected, call.dtype(name)
        elif isinstance(expected, Sequence):
            for number, one in enumerate(expected):
                assert isinstance(one, Allocated)
                yield f"{name}[{number}]", one.expected, one.dtype
