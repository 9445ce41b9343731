"""Random programs: compiled, they give what they give in eager mode.

A value is exact where it follows from the inputs by operators that IEEE 754 rounds in one way: then it is the same bit
for bit, and operators that jump, such as comparisons, take no others. What functions and sums give is near.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples

pytestmark = pytest.mark.usefixtures("fresh_compiler")

F = torch.nn.functional

EXACT: dict[str, Callable[..., Any]] = {
    "sum of two": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y,
    "half": lambda x: x * 0.5,
    "from a number": lambda x: 3 - x,
    "quotient": lambda x, y: x / (y.abs() + 1),
    "maximum": lambda x, y: x.maximum(y),
    "absolute value": lambda x: x.abs(),
    "root": lambda x: x.abs().sqrt(),
    "relu": lambda x: x.relu(),
    "square": lambda x: x.square(),
    "clamp": lambda x: x.clamp(-2, 3),
    "to float16": lambda x: x.to(torch.float16),
    "to bfloat16": lambda x: x.to(torch.bfloat16),
    "to float32": lambda x: x.to(torch.float32),
    "transpose": lambda x: x.transpose(0, -1),
    "reshape": lambda x: x.reshape(-1),
    "new dimension": lambda x: x.unsqueeze(0),
    "expand": lambda x, y: x.expand_as(y),
    "slice": lambda x: x[..., 1:],
    "select": lambda x: x.select(0, 0),
    "flip": lambda x: x.flip(0),
    "twice": lambda x: torch.cat([x, x]),
    "copy": lambda x: x.clone(),
    "ones": lambda x: x.new_ones(()),
    "zeros": lambda x: x.new_zeros(x.shape),
    "columns": lambda x: torch.arange(x.shape[-1], device=x.device),
    "triangle": lambda x: x.tril(),
    "in place": lambda x: x.mul_(2),
    "in place in a copy": lambda x: x.clone().add_(1),
    "column of a copy": lambda x: x.clone()[..., 0].fill_(2),
}
"""Operators whose results are exact where their operands are."""
JUMPING: dict[str, Callable[..., Any]] = {
    "less": lambda x, y: x < y,
    "equal": lambda x, y: x == y,
    "where": lambda x, y: torch.where(x > y, x, y),
    "to bool": lambda x: x.to(torch.bool),
    "to int64": lambda x: x.clamp(-100, 100).to(torch.int64),
    "masked": lambda x, y: x.masked_fill(y > 0, 1),
    "both": lambda x, y: (x > 0) & (y > 0),
    "floor": lambda x: x.floor(),
    "remainder": lambda x: x % 3,
    "floor of a quotient": lambda x: x // 2,
    "sign": lambda x: x.sign(),
    "index of the largest": lambda x: x.argmax(-1),
    "largest": lambda x: x.amax(-1, keepdim=True),
}
"""Operators that are exact, and take exact operands alone."""
NEAR: dict[str, Callable[..., Any]] = {
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "gelu": lambda x: F.gelu(x.float()),
    "silu": lambda x: F.silu(x.float()),
    "exponential": lambda x: torch.exp(-x.abs()),
    "logarithm": lambda x: torch.log1p(x.abs()),
    "sine": lambda x: x.sin(),
    "error function": lambda x: torch.erf(x.float()),
    "reciprocal root": lambda x: torch.rsqrt(x.abs() + 1),
    "sum": lambda x: x.sum(-1),
    "sum of all": lambda x: x.sum(),
    "mean": lambda x: x.float().mean(0, keepdim=True),
    "softmax": lambda x: x.float().softmax(-1),
    "layer norm": lambda x: F.layer_norm(x.float(), x.shape[-1:]),
    "matrix product": lambda x: x.float() @ x.float().transpose(-1, -2),
    "running sum": lambda x: x.cumsum(0),
    "interpolation": lambda x, y: torch.lerp(x.float(), y.float(), 0.3),
}
"""Operators whose results differ by rounding."""
OPERATORS = EXACT | JUMPING | NEAR

DTYPES = ("float32", "float32", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool")
SHAPES: tuple[tuple[int, ...], ...] = ((4, 5), (4, 5), (5,), (4, 1), (), (3, 4, 5), (0, 5), (16, 33))

_index = st.integers(0, 40)
_steps = st.lists(st.tuples(st.sampled_from(list(OPERATORS)), _index, _index), min_size=2, max_size=14)
_inputs = st.lists(st.tuples(st.sampled_from(DTYPES), st.sampled_from(SHAPES), st.booleans()), min_size=1, max_size=4)


def tensors(described: Sequence[tuple[str, tuple[int, ...], bool]], device: Any) -> list[Any]:
    """Multiples of a quarter; transposed in memory where the third part says so."""
    made = []
    for k, (dtype, shape, is_transposed) in enumerate(described):
        draw = torch.Generator().manual_seed(k)
        values = torch.randint(0 if dtype == "uint8" else -12, 13, shape, generator=draw)
        quarters = values / 4 if getattr(torch, dtype).is_floating_point else values
        own = quarters.to(getattr(torch, dtype)).to(device)
        made.append(own.transpose(0, -1).contiguous().transpose(0, -1) if is_transposed and shape else own)
    return made


@dataclass(frozen=True)
class Program:
    """The steps that PyTorch takes on the CPU: functions of values by position, inputs first."""

    steps: list[tuple[Callable[..., Any], list[int]]]
    exact: list[bool]

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        values = list(inputs)
        for function, operands in self.steps:
            values.append(function(*[values[k] for k in operands]))
        return tuple(values[-3:])


def program(inputs: list[Any], drawn: Sequence[tuple[str, int, int]]) -> Program:
    """Of the steps that were drawn, those that run: each operand is among the latest values of the right kind."""
    values, exact = list(inputs), [True] * len(inputs)
    steps: list[tuple[Callable[..., Any], list[int]]] = []
    for name, *wanted in drawn:
        function = OPERATORS[name]
        known = [k for k in reversed(range(len(values))) if exact[k] or name not in JUMPING]
        operands = [known[index % len(known)] for index in wanted[: len(signature(function).parameters)]]
        try:
            values.append(function(*[values[k] for k in operands]))
        except (RuntimeError, IndexError):
            continue
        exact.append(name not in NEAR and all(exact[k] for k in operands))
        steps.append((function, operands))
    return Program(steps, exact[-3:])


def assert_alike(own: Any, expected: Any, is_exact: bool) -> None:
    """Equal, bit for bit where it is exact."""
    assert (own.device, own.dtype, own.shape) == (expected.device, expected.dtype, expected.shape)
    tolerance = {"rtol": 0, "atol": 0} if is_exact else {"rtol": 1e-2, "atol": 1e-2} if own.dtype.itemsize == 2 else {}
    torch.testing.assert_close(own.cpu(), expected.cpu(), equal_nan=True, **tolerance)


PROGRAMS = settings(
    max_examples=examples(40),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def test_a_value_that_only_a_constant_was_computed_from(graphs: ModuleType, droplet: Any) -> None:
    """What looks at its dtype alone does not need it."""
    x = torch.arange(6.0).to(droplet)
    compiled = torch.compile(lambda x: (x > 2).logical_not().new_ones(()) * x, backend=graphs.backend)
    with torch.no_grad():
        assert_alike(compiled(x), x, is_exact=True)


@pytest.mark.parametrize("is_dynamic", [False, True])
@PROGRAMS
@given(described=_inputs, drawn=_steps)
def test_inferences(graphs: ModuleType, droplet: Any, is_dynamic: bool, described: Any, drawn: Any) -> None:
    """In their first run and in a later one, with sizes that are open or not; what becomes of the inputs as well."""
    run = program(tensors(described, "cpu"), drawn)
    torch._dynamo.reset()
    compiled = torch.compile(run.__call__, backend=graphs.backend, dynamic=is_dynamic)
    with torch.no_grad():
        expected_inputs = tensors(described, droplet)
        expected = run(*expected_inputs)
        for _ in range(2):
            own_inputs = tensors(described, droplet)
            for one, other, is_exact in zip(compiled(*own_inputs), expected, run.exact, strict=True):
                assert_alike(one, other, is_exact)
            for one, other in zip(own_inputs, expected_inputs, strict=True):
                assert_alike(one, other, is_exact=True)


@PROGRAMS
@given(described=_inputs, drawn=_steps)
def test_gradients(graphs: ModuleType, droplet: Any, described: Any, drawn: Any) -> None:
    """Of all inputs that have some, where each element of a result counts differently."""

    def gradients(function: Callable[..., Any], inputs: list[Any]) -> list[Any]:
        leaves = [one.requires_grad_() for one in inputs if one.is_floating_point()]
        loss = sum((torch.linspace(-1, 1, one.numel(), device=one.device) * one.flatten()).sum()
                   for one in function(*[one * 1 for one in inputs]) if one.requires_grad)  # fmt: skip
        return list(torch.autograd.grad(loss, leaves, allow_unused=True)) if isinstance(loss, torch.Tensor) else []

    run = program([one * 1 for one in tensors(described, "cpu")], drawn)
    torch._dynamo.reset()
    compiled = torch.compile(run.__call__, backend=graphs.backend)
    expected = gradients(run, tensors(described, droplet))
    for one, other in zip(gradients(compiled, tensors(described, droplet)), expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert_alike(one, other, is_exact=False)
