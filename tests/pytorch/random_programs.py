"""Random programs: operators, views, writes in place and plain code for functions, over tensors of several dtypes.

A value is exact where it follows from the inputs by operators that IEEE 754 rounds in one way: then it is the same bit
for bit on every device, and operators that jump, such as comparisons, take no others. Other values differ by rounding.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch

F = torch.nn.functional


def _set(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def _first(x: Any) -> Any:
    return torch.zeros(1, dtype=torch.int64, device=x.device)


def _skip() -> Any:
    raise RuntimeError("a step that is left out")


def _weight(x: Any) -> Any:
    return torch.linspace(0.5, 1.5, x.shape[-1], device=x.device).to(x.dtype)


def _angles(x: Any) -> Any:
    half = torch.arange(x.shape[-1] // 2, device=x.device) * 0.25
    turned = torch.outer(torch.arange(x.shape[-2], device=x.device).float(), half)
    return torch.cat((turned, turned), -1).to(x.dtype)


def _turned(x: Any) -> Any:
    left, right = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-right, left), dim=-1)


def _hidden(x: Any) -> Any:
    return torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)[None, None]


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
    "flip": lambda x: x.flip(0),
    "twice": lambda x: torch.cat([x, x]),
    "copy": lambda x: x.clone(),
    "ones": lambda x: x.new_ones(()),
    "zeros": lambda x: x.new_zeros(x.shape),
    "columns": lambda x: torch.arange(x.shape[-1], device=x.device),
    "triangle": lambda x: x.tril(),
    "in place in a copy": lambda x: x.clone().add_(1),
    "column of a copy": lambda x: x.clone()[..., 0].fill_(2),
}
"""Operators whose results are exact where their operands are, in new memory."""
VIEWS: dict[str, Callable[..., Any]] = {
    "transpose": lambda x: x.transpose(0, -1),
    "reshape": lambda x: x.reshape(-1),
    "view": lambda x: x.view(x.shape[0], -1),
    "new dimension": lambda x: x.unsqueeze(0),
    "expand": lambda x, y: x.expand_as(y),
    "expand a row": lambda x: x[:1].expand_as(x),
    "slice": lambda x: x[..., 1:],
    "slice of one": lambda x: x[..., 1:2],
    "rows": lambda x: x[:-1],
    "every second": lambda x: x[..., ::2],
    "select": lambda x: x.select(0, 0),
    "second half": lambda x: x.chunk(2, -1)[1],
    "diagonal": lambda x: x.diagonal(),
    "squeeze": lambda x: x.squeeze(-1),
    "narrow": lambda x: x.narrow(0, 0, 1),
    "same": lambda x: x.to(x.dtype),
}
"""Operators that look at memory of their operand."""
WRITES: dict[str, Callable[..., Any]] = {
    "in place": lambda x: x.mul_(2),
    "add a number in place": lambda x: x.add_(1),
    "add in place": lambda x, y: x.add_(y),
    "subtract in place": lambda x, y: x.sub_(y),
    "copy over": lambda x, y: x.copy_(y),
    "fill": lambda x: x.fill_(3),
    "clear a row": lambda x: x[:1].zero_(),
    "negative in place": lambda x: x.neg_(),
    "relu in place": lambda x: x.relu_(),
    "clamp in place": lambda x: x.clamp_(-2, 3),
    "number in a column": lambda x: _set(x, (Ellipsis, slice(1, 2)), 2),
    "number in the last row": lambda x: _set(x, slice(-1, None), 1),
    "column in a column": lambda x, y: _set(x, (Ellipsis, slice(0, 1)), y[..., :1]),
    "row at an index": lambda x: x.index_copy_(0, _first(x), x[:1] * 2),
    "fill at an index": lambda x: x.index_fill_(-1, _first(x), 2),
    "add at an index": lambda x, y: x.index_add_(0, _first(x), y[:1]),
    "scatter": lambda x: x.scatter_(0, torch.zeros_like(x[:1], dtype=torch.int64), 1),
    "through a transpose": lambda x: x.transpose(0, -1)[..., :1].add_(1),
    "into the diagonal": lambda x: x.diagonal().fill_(2),
    "into a flat view": lambda x: x.view(-1)[1:3].mul_(3),
    "out": lambda x, y: torch.neg(x, out=y) if (x.shape, x.dtype) == (y.shape, y.dtype) else _skip(),
}
"""Operators that write to their operand, or to a view of it."""
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
    "masked in place": lambda x, y: x.masked_fill_(y > 0, 1),
    "number where": lambda x: _set(x, x > 1, 0),
}
"""Operators that are exact, and take exact operands alone."""
NEAR: dict[str, Callable[..., Any]] = {
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    # Below, the kernel of the CPU adds 1 to an erf near -1.
    "gelu": lambda x: F.gelu(x.float().clamp(min=-1.5)),
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
PATTERNS: dict[str, Callable[..., Any]] = {
    "norm": lambda x: x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-3),
    "norm of its dtype": lambda x: (
        (x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-3)).to(x.dtype) * _weight(x)
    ),
    "rotation": lambda x: x * _angles(x).cos() + _turned(x) * _angles(x).sin(),
    "attention": lambda x: torch.softmax(x @ x.transpose(-1, -2) * 0.125, -1) @ x,
    "masked softmax": lambda x: torch.softmax((x * 0.5).masked_fill(_hidden(x), -10000.0), -1),
    "masked softmax in place": lambda x: torch.softmax((x * 0.5).masked_fill_(_hidden(x), -10000.0), -1),
}
"""Plain code that one function computes."""
OPERATORS = EXACT | VIEWS | WRITES | JUMPING | NEAR | PATTERNS

DTYPES = ("float32", "float32", "float32", "float16", "bfloat16", "float64", "int64", "int32", "int8", "uint8", "bool")
SHAPES: tuple[tuple[int, ...], ...] = (
    (4, 5), (4, 5), (5,), (4, 1), (), (3, 4, 5), (0, 5), (16, 33), (2, 3, 4, 4), (2, 3, 4, 4),
)  # fmt: skip
LAYOUTS = ("dense", "dense", "transposed", "part", "view of the one before")

Described = list[tuple[str, tuple[int, ...], str]]
"""Of inputs: dtype, shape and layout."""
Drawn = list[tuple[str, int, int]]
"""Of steps: the operator, and its operands among the latest values."""


IN_FLOAT32 = frozenset({"norm of its dtype"})
"""Operators that compute in float32 and give the dtype of their operand."""


def drawn(seed: int) -> tuple[Described, Drawn]:
    """Inputs and steps. Each table of operators counts alike."""
    draw = random.Random(seed)
    described = [
        (draw.choice(DTYPES), draw.choice(SHAPES), draw.choice(LAYOUTS)) for _ in range(draw.randint(1, 4))
    ]  # fmt: skip
    tables = (EXACT, VIEWS, WRITES, JUMPING, NEAR, PATTERNS)
    names = [draw.choice(list(draw.choice(tables))) for _ in range(draw.randint(3, 16))]
    return described, [(name, draw.randrange(40), draw.randrange(40)) for name in names]


def tensors(described: Described, device: Any) -> list[Any]:
    """Multiples of a quarter, laid out in memory as described."""
    made: list[Any] = []
    for k, (dtype, shape, layout) in enumerate(described):
        draw = torch.Generator().manual_seed(k)
        values = torch.randint(0 if dtype == "uint8" else -12, 13, shape, generator=draw)
        quarters = values / 4 if getattr(torch, dtype).is_floating_point else values
        own = quarters.to(getattr(torch, dtype)).to(device)
        if layout == "transposed" and shape:
            own = own.transpose(0, -1).contiguous().transpose(0, -1)
        elif layout == "part" and shape:
            own = torch.cat((own, own, own))[shape[0] : 2 * shape[0]]
        elif layout == "view of the one before" and made and made[-1].dim() > 0:
            own = made[-1].transpose(0, -1)[:2]
        made.append(own)
    return made


def sharing(values: Sequence[Any]) -> list[tuple[int, int]]:
    """The pairs that share memory."""
    starts = [value.untyped_storage().data_ptr() if value.numel() else 0 for value in values]
    return [(k, j) for j in range(len(starts)) for k in range(j) if starts[k] == starts[j] != 0]


@dataclass(frozen=True)
class Program:
    """The steps that PyTorch takes on the CPU: operators of values by position, inputs first. It returns the last three
    values; `exact` is about these and, before them, the inputs as they are at its end."""

    steps: list[tuple[str, list[int]]]
    exact: list[bool]
    coarsest: float
    """The distance of two numbers at 1 in the floating dtype with the fewest digits."""

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        values = list(inputs)
        for name, operands in self.steps:
            values.append(OPERATORS[name](*[values[k] for k in operands]))
        return tuple(values[-3:])

    def watched(self, sizes: list[float], *inputs: Any) -> tuple[Any, ...]:
        """The results; a backward pass adds the largest element of each gradient on its way to `sizes`."""
        values = list(inputs)

        def note(gradient: Any) -> None:
            sizes.append(float(gradient.abs().nan_to_num(0, 0, 0).max()) if gradient.numel() else 0.0)

        for name, operands in self.steps:
            values.append(OPERATORS[name](*[values[k] for k in operands]))
            if values[-1].requires_grad:
                values[-1].register_hook(note)
        return tuple(values[-3:])

    def rounded(self, seed: int, *inputs: Any) -> tuple[Any, ...]:
        """The results where operators that round do so in another way."""
        values, draw = list(inputs), torch.Generator().manual_seed(seed)
        for name, operands in self.steps:
            own = [values[k] for k in operands]
            if name not in NEAR and name not in PATTERNS:
                values.append(OPERATORS[name](*own))
                continue
            result = OPERATORS[name](*[_moved(one, draw) for one in own])
            values.append(_moved(result, draw, 4, name in PATTERNS, name in IN_FLOAT32))
        return tuple(values[-3:])


def _moved(value: Any, draw: torch.Generator, count: int = 1, is_whole: bool = False, is_coarse: bool = False) -> Any:
    """Each element of a floating tensor by at most `count` roundings, of the largest element where it `is_whole`, and
    not finer than those of float32 where it `is_coarse`."""
    if not value.is_floating_point() or value.numel() == 0:
        return value
    size = value.detach().abs()
    noise = torch.rand(value.shape, generator=draw, dtype=torch.float64) * 2 - 1
    eps = max(torch.finfo(value.dtype).eps, torch.finfo(torch.float32).eps if is_coarse else 0.0)
    moved = (noise * count * eps * (size.max() if is_whole else size)).nan_to_num(0, 0, 0).to(value.dtype)
    return _Rounded.apply(value, moved, draw) if value.requires_grad else value + moved


class _Rounded(torch.autograd.Function):  # type: ignore[misc]  # torch counts as Any
    """A sum whose gradient is rounded in another way as well."""

    @staticmethod
    def forward(ctx: Any, value: Any, moved: Any, draw: torch.Generator) -> Any:
        ctx.draw = draw
        return value + moved

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _moved(gradients[0], ctx.draw, 4), None, None


def _is_undefined(operands: Sequence[Any]) -> bool:
    """Returns whether the result of a write depends on the order of elements: several of them share memory, or an
    operand that is read has some in another position. PyTorch rejects what it sees of this."""
    if any(stride == 0 and size > 1 for one in operands for size, stride in zip(one.shape, one.stride(), strict=True)):
        return True
    first, *others = operands
    own = set(_addresses(first))
    return any(own & set(_addresses(one)) and _addresses(one) != _addresses(first) for one in others)


def _addresses(value: Any) -> list[int]:
    """Of the elements in order."""
    offsets = torch.zeros(value.shape, dtype=torch.int64)
    for k, (size, stride) in enumerate(zip(value.shape, value.stride(), strict=True)):
        offsets += (torch.arange(size) * stride).reshape([-1 if j == k else 1 for j in range(value.dim())])
    return list((value.data_ptr() + offsets.flatten() * value.element_size()).tolist())


def program(inputs: list[Any], drawn: Drawn) -> Program:
    """Of the steps that were drawn, those that run: each operand is among the latest values of the right kind."""
    values, exact = list(inputs), [True] * len(inputs)
    taken: list[tuple[str, list[int]]] = []
    for name, *wanted in drawn:
        function = OPERATORS[name]
        known = [k for k in reversed(range(len(values))) if exact[k] or name not in JUMPING]
        if not known:
            continue
        operands = [known[index % len(known)] for index in wanted[: len(signature(function).parameters)]]
        if name in (*WRITES, "masked in place", "number where") and _is_undefined([values[k] for k in operands]):
            continue
        try:
            values.append(function(*[values[k] for k in operands]))
        except (RuntimeError, IndexError):
            continue
        exact.append(name not in NEAR and name not in PATTERNS and all(exact[k] for k in operands))
        for k, j in sharing(values):  # a write to a view is one to its base
            exact[k] = exact[j] = exact[k] and exact[j]
        taken.append((name, operands))
    dtypes = [value.dtype for value in values] + [torch.float32 for name, _ in taken if name in IN_FLOAT32]
    eps = [torch.finfo(dtype).eps for dtype in dtypes if dtype.is_floating_point]
    return Program(taken, exact[: len(inputs)] + exact[-3:], max(eps, default=0.0))


def spreads(run: Callable[..., list[Any]], expected: Sequence[Any]) -> list[Any]:
    """For each expected tensor, how far other roundings move its elements: `run` gets a seed."""
    found = [torch.zeros(one.shape, dtype=torch.float64) if one is not None else None for one in expected]
    for seed in range(8):
        for spread, other, one in zip(found, run(seed), expected, strict=True):
            if spread is not None and other is not None:
                difference = (other.double() - one.double()).abs()
                difference[(other == one) | (other.isnan() & one.isnan())] = 0
                torch.maximum(spread, difference.nan_to_num(torch.inf, torch.inf), out=spread)
    return found


def assert_alike(own: Any, expected: Any, spread: Any = None, eps: float = 0.0, largest: float = 0.0) -> None:
    """Equal bit for bit; with a spread, up to 16 times of it and four roundings. Where steps in between are not those
    of the spread, `eps` is that of their dtype and `largest` the largest of their elements: up to 32 roundings more of
    that, or of the largest element."""
    assert (own.dtype, own.shape) == (expected.dtype, expected.shape)
    own, expected = own.detach().cpu(), expected.detach().cpu()
    if spread is None or not own.is_floating_point():
        torch.testing.assert_close(own, expected, rtol=0, atol=0, equal_nan=True)
        return
    rounding = 4 * torch.finfo(own.dtype).eps
    own, expected = own.double(), expected.double()
    size = expected.abs().nan_to_num(0, 0, 0)
    allowed = 16 * spread + rounding * size + 32 * eps * max(float(size.max()) if size.numel() else 0.0, largest)
    same = (own == expected) | (own.isnan() & expected.isnan()) | ((own - expected).abs() <= allowed) | spread.isinf()
    assert bool(same.all()), [one[~same][:5].tolist() for one in (own, expected, allowed)]
