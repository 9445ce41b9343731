"""Elementwise operators: float32 at two sizes, other dtypes and other layouts at one.

PyTorch writes into a tensor that is there already, as we do. Every case is named after our function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

SIZES = {"1M": 1 << 20, "16M": 1 << 24}
FEW = ("diopiAdd", "diopiExp", "diopiClampScalar")
"""Those that are measured at 64, 4,096 and 64M elements as well."""
GROUPS = ("elementwise", "dtype", "cast", "layout")
aten = torch.ops.aten

Ours = Callable[["Operands"], tuple[Any, ...]]
Theirs = Callable[["Operands"], object]


@dataclass(frozen=True, slots=True)
class Operands:
    """Tensors that the cases share. `out` is ours and `expected` PyTorch's."""

    a: torch.Tensor
    b: torch.Tensor
    c: torch.Tensor
    mask: torch.Tensor
    out: torch.Tensor
    expected: torch.Tensor
    truth: torch.Tensor
    expected_truth: torch.Tensor
    keep: dict[str, torch.Tensor] = field(default_factory=dict)

    def extra(self, name: str) -> torch.Tensor:
        """One more tensor of zeros, the same for the same name."""
        if name not in self.keep:
            self.keep[name] = torch.zeros_like(self.a)
        return self.keep[name]


def operands(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Operands:
    """Numbers that every function takes: a in (0, 1), b in (1, 2), c in (-4, 4); small integers where dtype is one."""

    def numbers(low: float, high: float) -> torch.Tensor:
        if dtype.is_floating_point:
            return (torch.rand(shape) * (high - low) + low).to(dtype)
        return torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)

    mask = torch.rand(shape) < 0.5
    out, truth = torch.empty(shape, dtype=dtype), torch.empty(shape, dtype=torch.bool)
    a, b, c = numbers(0.01, 0.99), numbers(1.0, 2.0), numbers(-4.0, 4.0)
    return Operands(a, b, c, mask, out, torch.empty_like(out), truth, torch.empty_like(truth))


@dataclass(frozen=True, slots=True)
class Entry:
    """A function of ours with its arguments, the same of PyTorch, and how many tensors of elements are moved."""

    name: str
    ours: Ours
    theirs: Theirs
    moved: float


def _unary(name: str, function: Any, source: str = "a") -> Entry:
    return Entry(
        name,
        lambda t: (t.out, getattr(t, source)),
        lambda t: function(getattr(t, source), out=t.expected),
        2,
    )


def _binary(name: str, function: Any, *ours: Any, **theirs: Any) -> Entry:
    return Entry(name, lambda t: (t.out, t.c, t.b, *ours), lambda t: function(t.c, t.b, out=t.expected, **theirs), 3)


def _scalar(name: str, function: Any, value: float, *ours: Any) -> Entry:
    return Entry(name, lambda t: (t.out, t.a, value, *ours), lambda t: function(t.a, value, out=t.expected), 2)


def _truth(name: str, function: Any) -> Entry:
    return Entry(name, lambda t: (t.truth, t.a, t.c), lambda t: function(t.a, t.c, out=t.expected_truth), 2.25)


def _backward(name: str, function: Any, *ours: Any, **theirs: Any) -> Entry:
    return Entry(
        name,
        lambda t: (t.out, t.a, t.c, *ours),
        lambda t: function(t.a, t.c, *theirs.get("rest", ()), grad_input=t.expected, **theirs.get("named", {})),
        3,
    )


UNARY = [
    *(
        _unary(f"diopi{name}", getattr(torch, name.lower()), "c")
        for name in ("Abs", "Neg", "Floor", "Ceil", "Sign", "Sgn", "Exp", "Expm1", "Sin", "Cos", "Tan", "Sinh")
    ),
    *(
        _unary(f"diopi{name}", getattr(torch, name.lower()), "c")
        for name in ("Cosh", "Atan", "Asinh", "Erf", "Tanh", "Sigmoid")
    ),
    *(
        _unary(f"diopi{name}", getattr(torch, name.lower()), "a")
        for name in ("Sqrt", "Rsqrt", "Asin", "Acos", "Atanh", "Log", "Log2", "Log10", "Log1p", "Reciprocal", "Erfinv")
    ),
    _unary("diopiAcosh", torch.acosh, "b"),
    _unary("diopiRelu", aten.relu.out, "c"),
    _unary("diopiSilu", aten.silu.out, "c"),
    _unary("diopiHardswish", aten.hardswish.out, "c"),
]
BINARY = [
    _binary("diopiAdd", torch.add, 2, alpha=2),
    _binary("diopiSub", torch.sub, 1),
    _binary("diopiMul", torch.mul),
    _binary("diopiDiv", torch.div, "RoundModeNone"),
    _binary("diopiMaximum", torch.maximum),
    _binary("diopiMinimum", torch.minimum),
    _binary("diopiRemainderTensor", torch.remainder),
    Entry("diopiPowTensor", lambda t: (t.out, t.b, t.c), lambda t: torch.pow(t.b, t.c, out=t.expected), 3),
    _scalar("diopiAddScalar", torch.add, 1.5, 1),
    _scalar("diopiMulScalar", torch.mul, 1.5),
    _scalar("diopiDivScalar", torch.div, 1.5, "RoundModeNone"),
    _scalar("diopiPow", torch.pow, 2.5),
    Entry("diopiPow, 2", lambda t: (t.out, t.a, 2.0), lambda t: torch.pow(t.a, 2.0, out=t.expected), 2),
    Entry("diopiPowScalar", lambda t: (t.out, 2.5, t.a), lambda t: torch.pow(2.5, t.a, out=t.expected), 2),
    _scalar("diopiClampMaxScalar", torch.clamp_max, 0.5),
    _scalar("diopiClampMinScalar", torch.clamp_min, 0.5),
]
COMPARISON = [
    *(_truth(f"diopi{name}", getattr(torch, name.lower())) for name in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")),
    _truth("diopiLogicalAnd", torch.logical_and),
    _truth("diopiLogicalOr", torch.logical_or),
    Entry("diopiLogicalNot", lambda t: (t.truth, t.a), lambda t: torch.logical_not(t.a, out=t.expected_truth), 1.25),
    Entry("diopiLtScalar", lambda t: (t.truth, t.a, 0.5), lambda t: torch.lt(t.a, 0.5, out=t.expected_truth), 1.25),
    Entry("diopiIsNan", lambda t: (t.truth, t.a), lambda t: aten.isnan.out(t.a, out=t.expected_truth), 1.25),
]
TERNARY = [
    Entry(
        "diopiAddcmul",
        lambda t: (t.out, t.a, t.b, t.c, 0.5),
        lambda t: torch.addcmul(t.a, t.b, t.c, value=0.5, out=t.expected),
        4,
    ),
    Entry(
        "diopiAddcdiv",
        lambda t: (t.out, t.a, t.c, t.b, 0.5),
        lambda t: torch.addcdiv(t.a, t.c, t.b, value=0.5, out=t.expected),
        4,
    ),
    Entry("diopiClamp", lambda t: (t.out, t.c, t.a, t.b), lambda t: torch.clamp(t.c, t.a, t.b, out=t.expected), 4),
    Entry(
        "diopiClampScalar", lambda t: (t.out, t.c, -1.0, 1.0), lambda t: torch.clamp(t.c, -1.0, 1.0, out=t.expected), 2
    ),
    Entry(
        "diopiWhere", lambda t: (t.out, t.mask, t.a, t.b), lambda t: torch.where(t.mask, t.a, t.b, out=t.expected), 3.25
    ),
    Entry(
        "diopiMaskedFillScalar",
        lambda t: (t.out, t.a, t.mask, 0.5),
        lambda t: aten.masked_fill.Scalar_out(t.a, t.mask, 0.5, out=t.expected),
        2.25,
    ),
    Entry("diopiLerpTensor", lambda t: (t.out, t.a, t.b, t.c), lambda t: torch.lerp(t.a, t.b, t.c, out=t.expected), 4),
    Entry("diopiLerpScalar", lambda t: (t.out, t.a, t.b, 0.3), lambda t: torch.lerp(t.a, t.b, 0.3, out=t.expected), 3),
]
ACTIVATION = [
    *(
        Entry(
            f"diopiGelu, {how}",
            lambda t, how=how: (t.out, t.c, how),
            lambda t, how=how: aten.gelu.out(t.c, approximate=how, out=t.expected),
            2,
        )
        for how in ("none", "tanh")
    ),
    Entry(
        "diopiHardtanh",
        lambda t: (t.out, t.c, -1.0, 1.0),
        lambda t: aten.hardtanh.out(t.c, -1.0, 1.0, out=t.expected),
        2,
    ),
    Entry(
        "diopiThreshold",
        lambda t: (t.out, t.c, 0.5, 0.1),
        lambda t: aten.threshold.out(t.c, 0.5, 0.1, out=t.expected),
        2,
    ),
    Entry("diopiLeakyRelu", lambda t: (t.out, t.c, 0.1), lambda t: aten.leaky_relu.out(t.c, 0.1, out=t.expected), 2),
    *(
        _backward(f"diopiGeluBackward, {how}", aten.gelu_backward.grad_input, how, named={"approximate": how})
        for how in ("none", "tanh")
    ),
    _backward("diopiHardtanhBackward", aten.hardtanh_backward.grad_input, -1.0, 1.0, rest=(-1.0, 1.0)),
    _backward("diopiThresholdBackward", aten.threshold_backward.grad_input, 0.5, rest=(0.5,)),
    _backward("diopiLeakyReluBackward", aten.leaky_relu_backward.grad_input, 0.1, False, rest=(0.1, False)),
    _backward("diopiTanhBackward", aten.tanh_backward.grad_input),
    _backward("diopiSigmoidBackward", aten.sigmoid_backward.grad_input),
    _backward("diopiSiluBackward", aten.silu_backward.grad_input),
    Entry(
        "diopiHardswishBackward",
        lambda t: (t.out, t.a, t.c),
        lambda t: aten.hardswish_backward.out(t.a, t.c, out=t.expected),
        3,
    ),
]


def _adam(name: str, function: Any) -> Entry:
    def theirs(t: Operands) -> object:
        lists = [[t.extra(k)] for k in ("param", "grad", "first", "second")]
        steps = [torch.tensor(3.0)]
        options = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.01, "eps": 1e-8}
        return function(*lists, [], steps, amsgrad=False, maximize=False, **options)

    def ours(t: Operands) -> tuple[Any, ...]:
        tensors = [t.extra(k) for k in ("param", "grad", "first", "second")]
        return (*tensors, None, 1e-3, 0.9, 0.999, 1e-8, 0.01, 3, False)

    return Entry(name, ours, theirs, 7)


def _sgd(t: Operands) -> object:
    lists = [[t.extra(k)] for k in ("param", "grad", "momentum")]
    options = {"weight_decay": 0.01, "momentum": 0.9, "lr": 1e-3, "dampening": 0.1, "nesterov": False}
    return torch._fused_sgd_(*lists, **options, maximize=False, is_first_step=False)


OPTIMIZER = [
    _adam("diopiAdam", torch._fused_adam_),
    _adam("diopiAdamW", torch._fused_adamw_),
    Entry(
        "diopiSgd",
        lambda t: (t.extra("param"), t.extra("grad"), t.extra("momentum"), 1e-3, 0.9, 0.1, 0.01, False),
        _sgd,
        5,
    ),
]
CREATION = [
    Entry("diopiFill", lambda t: (t.out, 1.5), lambda t: t.expected.fill_(1.5), 1),
    Entry("diopiZeroInp", lambda t: (t.out,), lambda t: t.expected.zero_(), 1),
    Entry(
        "diopiArange",
        lambda t: (t.out, 0, t.out.numel(), 1),
        lambda t: torch.arange(0, t.out.numel(), 1, out=t.expected),
        1,
    ),
    Entry(
        "diopiLinspace",
        lambda t: (t.out, 0.0, 1.0, t.out.numel()),
        lambda t: torch.linspace(0.0, 1.0, t.out.numel(), out=t.expected),
        1,
    ),
    Entry("diopiCopyInp", lambda t: (t.a, t.out), lambda t: t.expected.copy_(t.a), 2),
    Entry(
        "diopiForeachmulScalar",
        lambda t: ([t.out], [t.a], 1, 1.5),
        lambda t: aten._foreach_mul.Scalar_out([t.a], 1.5, out=[t.expected]),
        2,
    ),
]
FLOAT32 = [*UNARY, *BINARY, *COMPARISON, *TERNARY, *ACTIVATION, *OPTIMIZER, *CREATION]

OF_FLOATS = {
    "diopiNeg", "diopiExp", "diopiTanh", "diopiSigmoid", "diopiAdd", "diopiMul", "diopiLt", "diopiWhere", "diopiSqrt",
    "diopiGelu, none", "diopiSiluBackward", "diopiAddcmul", "diopiClampScalar", "diopiCopyInp", "diopiMulScalar",
}  # fmt: skip
OF_INTEGERS = {
    "diopiNeg", "diopiAbs", "diopiAdd", "diopiMul", "diopiMaximum", "diopiLt", "diopiWhere", "diopiCopyInp",
    "diopiLogicalAnd",
}  # fmt: skip
ON_BOOLS = {"diopiLogicalAnd", "diopiLogicalOr", "diopiLogicalNot", "diopiWhere", "diopiCopyInp", "diopiEq"}
BITWISE = [
    _binary("diopiBitwiseAnd", torch.bitwise_and),
    _binary("diopiBitwiseOr", torch.bitwise_or),
    _unary("diopiBitwiseNot", torch.bitwise_not),
]
OTHER_DTYPES = {
    torch.float64: [entry for entry in FLOAT32 if entry.name in OF_FLOATS],
    torch.float16: [entry for entry in FLOAT32 if entry.name in OF_FLOATS],
    torch.bfloat16: [entry for entry in FLOAT32 if entry.name in OF_FLOATS],
    torch.int64: [*(entry for entry in FLOAT32 if entry.name in OF_INTEGERS), *BITWISE],
    torch.int32: [*(entry for entry in FLOAT32 if entry.name in OF_INTEGERS), *BITWISE],
    torch.bool: [entry for entry in FLOAT32 if entry.name in ON_BOOLS],
}
CASTS = [
    (torch.float32, torch.float16), (torch.float16, torch.float32), (torch.float32, torch.bfloat16),
    (torch.bfloat16, torch.float32), (torch.int64, torch.float32), (torch.float32, torch.int64),
    (torch.bool, torch.float32), (torch.float32, torch.bool), (torch.int32, torch.int64),
    (torch.float64, torch.float32),
]  # fmt: skip


def _case(device: Device, group: str, entry: Entry, size: str, t: Operands, element: int) -> Case:
    ours = device.call(entry.name.partition(",")[0], *entry.ours(t))
    moved = int(entry.moved * t.a.numel() * element)
    return Case(group, entry.name, size, ours, lambda: entry.theirs(t), bytes=moved)


def _casts(device: Device, count: int) -> Iterator[Case]:
    for source, target in CASTS:
        a = (torch.rand(count) * 100).to(source)
        out, expected = torch.empty(count, dtype=target), torch.empty(count, dtype=target)
        size = f"1M {str(source)[6:]} to {str(target)[6:]}"
        moved = count * (a.element_size() + out.element_size())
        ours = device.call("diopiCastDtype", out, a)
        yield Case("cast", "diopiCastDtype", size, ours, lambda e=expected, a=a: e.copy_(a), bytes=moved)


def _layouts(device: Device) -> Iterator[Case]:
    n = 1024
    a, b, out, expected = (torch.rand(n, n) for _ in range(4))
    image, image_out, image_expected = (
        torch.rand(8, 64, 64, 32).contiguous(memory_format=torch.channels_last) for _ in range(3)
    )
    plain = torch.rand(8, 64, 64, 32)
    integral = torch.randint(0, 100, (n, n), dtype=torch.int32)
    pairs = {
        "transposed second": (a, b.t(), out, expected),
        "transposed both": (a.t(), b.t(), out, expected),
        "row": (a, b[0], out, expected),
        "column": (a, b[:, :1], out, expected),
        "every second": (torch.rand(n, 2 * n)[:, ::2], b, out, expected),
        "slice of rows": (torch.rand(n, 2 * n)[:, :n], b, out, expected),
        "channels last": (image, image_out.clone(), image_out, image_expected),
        "channels last, plain": (image, plain, image_out, image_expected),
        "channel": (plain, torch.rand(1, 64, 1, 1), torch.empty_like(plain), torch.empty_like(plain)),
        "int32 and float32": (a, integral, out, expected),
        "in place": (a, b, a, a),
    }
    for layout, (x, y, result, theirs) in pairs.items():
        ours = device.call("diopiAdd", result, x, y, 1)

        def add(x: torch.Tensor = x, y: torch.Tensor = y, theirs: torch.Tensor = theirs) -> object:
            return torch.add(x, y, out=theirs)

        yield Case("layout", "diopiAdd", f"1M {layout}", ours, add, bytes=12 * result.numel())
    ours = device.call("diopiCopyInp", a.t(), out)
    yield Case("layout", "diopiCopyInp", "1M transposed", ours, lambda: expected.copy_(a.t()), bytes=8 * n * n)


def cases(device: Device) -> Iterator[Case]:
    """Every operator in float32 at every size, then a sample in other dtypes, casts and layouts."""
    for size, count in SIZES.items():
        t = operands((count,))
        for entry in FLOAT32:
            yield _case(device, "elementwise", entry, size, t, 4)
    for size, count in {"64": 64, "4096": 4096, "64M": 1 << 26}.items():
        t = operands((count,))
        for entry in FLOAT32:
            if entry.name in FEW:
                yield _case(device, "elementwise", entry, size, t, 4)
    for dtype, entries in OTHER_DTYPES.items():
        t = operands((SIZES["1M"],), dtype)
        for entry in entries:
            yield _case(device, "dtype", entry, f"1M {str(dtype)[6:]}", t, t.a.element_size())
    yield from _casts(device, SIZES["1M"])
    yield from _layouts(device)
