"""Gradients: the kernel of a backward entry is the derivative of its forward kernel.

The forward expression is evaluated with dual numbers (a value and its derivative) at sampled points, several times with
other parameters that its constraints allow. At a kink, where a comparison that depends on the element holds with
equality, the gradient is what its entry defines, and nothing is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Union

from diopigen.check.duals import Dual, Evaluator, Incomparable
from diopigen.check.rule import Subject
from diopigen.contract.arguments import Described, Scalar, Tensor
from diopigen.contract.evaluate import Contract
from diopigen.diagnostics import Sink
from diopigen.ir.model import BASE, Function, Parameter
from diopigen.spec.expression import Text, walk

EVALUATES = True

RULES = {
    "gradient-mismatch": "The kernel of an entry with 'backward_of' is the derivative of the forward kernel.",
}

Value = Union[float, int, bool, str, None]

SEEDS = 12
"""Number of samples of the parameters."""
POINTS = (-9.5, -4.25, -3.1, -2.6, -1.3, -0.7, -0.26, -0.03, 0.04, 0.31, 0.8, 1.4, 2.9, 3.2, 5.75, 10.5)
"""Sampled elements: both sides of zero, small and large; none is a typical kink of a kernel."""
TOLERANCE = 1e-9
"""Relative to 1 and the gradient: far above the roundings of float64, far below a wrong coefficient."""


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    bases = {function.operator: function for function in subject.functions if function.variant == BASE}
    for function in subject.functions:
        forward = bases.get(function.backward_of or "")
        if forward is not None and function.kernel is not None and forward.kernel is not None:
            _compare(forward, function, sink)


def _compare(forward: Function, backward: Function, sink: Sink) -> None:
    assert forward.kernel is not None and backward.kernel is not None
    tensors = [param.name for param in forward.params if param.type == "tensor" and param.direction == "in"]
    results = dict(backward.kernel.results)
    for name in tensors:
        formula = results.get(f"grad_{name}")
        found = _difference(forward, backward, name, tensors) if formula is not None else None
        if formula is not None and found is not None:
            message = f"{backward.name}: not the derivative of {forward.name} with respect to '{name}': {found}"
            fix = f"derive the kernel of {forward.name} anew, or correct 'backward_of'"
            sink.error("gradient-mismatch", message, formula.span, fix=fix)


def _difference(forward: Function, backward: Function, name: str, tensors: list[str]) -> str | None:
    """The first point at which the kernels disagree, in words."""
    random = Random(0)
    contracts = (Contract(forward), Contract(backward))
    for _ in range(SEEDS):
        numbers = _parameters(forward, backward, random)
        if not all(_allows(contract, numbers) for contract in contracts):
            continue
        for point in POINTS:
            elements: dict[str, Value] = {tensor: random.uniform(-2, 2) for tensor in tensors}
            elements[name] = point
            gradient = round(random.uniform(0.5, 2), 3)
            pair = values_at(forward, backward, name, {**numbers, **elements}, gradient)
            if pair is not None and not abs(pair[0] - pair[1]) <= TOLERANCE * (1 + abs(pair[1])):
                shown = ", ".join(f"{key} = {value}" for key, value in {**elements, **numbers}.items())
                return f"at {shown}, grad_output = {gradient} it is {pair[0]:.9g}, the derivative gives {pair[1]:.9g}"
    return None


def values_at(
    forward: Function, backward: Function, name: str, values: Mapping[str, Value], gradient: float
) -> tuple[float, float] | None:
    """The backward kernel and the derivative of the forward one times the gradient at a point; None at a kink, outside
    the domain, and where the kernels are not of real numbers."""
    assert forward.kernel is not None and backward.kernel is not None
    try:
        operands = {key: _dual(value, slope=float(key == name)) for key, value in values.items()}
        result = Evaluator(forward.kernel, operands).result(forward.kernel.results[0][1].expression)
        known = {key: _dual(value) for key, value in values.items()}
        target = forward.kernel.results[0][0]
        for output in ("output", target):
            known.setdefault(output, Dual(result.value))
        for output in ("grad_output", f"grad_{target}"):
            known.setdefault(output, Dual(gradient))
        formula = dict(backward.kernel.results)[f"grad_{name}"]
        actual = Evaluator(backward.kernel, known).result(formula.expression)
    except (Incomparable, ArithmeticError, ValueError):
        return None
    return actual.value, result.slope * gradient


def _dual(value: Value, slope: float = 0.0) -> Dual | str | None:
    return value if isinstance(value, str) or value is None else Dual(float(value), slope)


def _parameters(forward: Function, backward: Function, random: Random) -> dict[str, Value]:
    """Values for what is no tensor: one for a name that both functions have."""
    found: dict[str, Value] = {}
    formulas = [formula for one in (forward.kernel, backward.kernel) if one for _, formula in (*one.lets, *one.results)]
    words = [part.value for formula in formulas for part in walk(formula.expression) if isinstance(part, Text)]
    for param in (*forward.params, *backward.params):
        if param.name not in found and not param.is_written and param.type not in ("tensor", "generator"):
            found[param.name] = _sampled(param, random, words)
    return found


def _sampled(param: Parameter, random: Random, words: list[str]) -> Value:
    """A value of a parameter; a text is one that the kernels know, or another."""
    if param.type == "string":
        return random.choice([*words, "another"])
    if param.type == "bool":
        return False
    if param.values:
        return random.choice(param.values)
    if param.type in ("scalar", "float", "double"):
        return round(random.uniform(-3, 3), 3)
    if param.type in ("int64", "int32", "int"):
        return random.randint(0, 3)
    value = param.default.value if param.default is not None else None
    return value if isinstance(value, (str, int, float)) else None


def _allows(contract: Contract, numbers: Mapping[str, Value]) -> bool:
    described: dict[str, Described] = {}
    for param in contract.function.params:
        if param.type == "tensor":
            described[param.name] = Tensor((4,), "float64")
            continue
        value: Described = numbers.get(param.name)
        if param.type == "scalar" and isinstance(value, (int, float)):
            value = Scalar(value, "float64")
        described[param.name] = value
    return contract.admits(described)
