"""True if a device's result is within the bound of the spec.

Three results of one call: the device's, the CPU's in the same dtype, and the CPU's in float64, which counts as exact.
An element is right if it equals the CPU's, or if its distance from the exact one is within the bound of the operator's
class (`bounds.py`). Without an exact result it may be twice the bound from the CPU's, since neither is exact.

The bound follows from the largest element of a tensor, so that a wrong small element may be within it. The medians of
the relative errors of device and CPU are therefore compared as well: the device's may be `FACTOR` times the CPU's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from optools.bounds import Rule

Tensor = Any
FACTOR = 4.0
MEDIAN_ULPS = 4.0
MEDIAN_FROM = 16
"""Elements from which on the median of the relative errors counts as well."""


@dataclass(frozen=True)
class Difference:
    """Comparison of one result. `kind` is empty where the device is right."""

    kind: str
    output: str
    device_error: float
    cpu_error: float
    bound: float
    count: int = 0
    elements: int = 0
    index: int = -1
    expected: str = ""
    actual: str = ""

    @property
    def ratio(self) -> float:
        """The device's error over its bound; above 1 is wrong."""
        return self.device_error / self.bound if self.bound else (0.0 if self.device_error == 0 else float("inf"))


def compare_results(
    output: str,
    device: Tensor,
    same: Tensor | None,
    exact: Tensor | None,
    rule: Rule,
    sensitivity: Callable[[], Tensor | None] = lambda: None,
) -> Difference:
    """Compares one output. All tensors are on the CPU; `same` and `exact` may be missing, not both. `sensitivity` is
    called where most elements seem wrong: the exact result for inputs that were rounded once more."""
    reference = same if same is not None else exact
    assert reference is not None
    if device.shape != reference.shape:
        shapes = str(list(reference.shape)), str(list(device.shape))
        return Difference("shape", output, float("inf"), 0, 0, expected=shapes[0], actual=shapes[1])
    if same is not None and device.dtype != same.dtype and not _wider(device.dtype, same.dtype):
        return Difference("dtype", output, float("inf"), 0, 0, expected=str(same.dtype), actual=str(device.dtype))
    if not (device.dtype.is_floating_point or device.dtype.is_complex):
        return _equal(output, device, reference)
    if device.dtype.is_complex:
        return _near(output, _real(device), _real(same), _real(exact), rule, lambda: _real(sensitivity()))
    return _near(output, device, same, exact, rule, sensitivity)


def _real(tensor: Tensor | None) -> Tensor | None:
    """Complex numbers as pairs."""
    return None if tensor is None else torch.view_as_real(tensor.resolve_conj())


def _wider(device: Any, cpu: Any) -> bool:
    """Returns whether a result has more precision than the CPU's: devices keep statistics of half precision in
    float32."""
    return bool(device.is_floating_point and cpu.is_floating_point and device.itemsize > cpu.itemsize)


def _equal(output: str, device: Tensor, reference: Tensor) -> Difference:
    wrong = device != reference.to(device.dtype)
    count = int(wrong.sum())
    if not count:
        return Difference("", output, 0, 0, 0, elements=device.numel())
    index = int(wrong.reshape(-1).to(torch.uint8).argmax())
    expected, actual = (str(one.reshape(-1)[index].item()) for one in (reference, device))
    return Difference("values", output, float("inf"), 0, 0, count, device.numel(), index, expected, actual)


def _near(
    output: str,
    device: Tensor,
    same: Tensor | None,
    exact: Tensor | None,
    rule: Rule,
    sensitivity: Callable[[], Tensor | None],
) -> Difference:
    dtype = device.dtype if same is None else same.dtype
    info = torch.finfo(dtype)
    # Devices may flush what float16's range, but not float32's, needs: numbers below the normal ones.
    eps, tiny = info.eps, info.tiny * (2 * info.eps if dtype == torch.float16 else 1)
    if device.numel() == 0:
        return Difference("", output, 0, 0, 0)
    d = device.reshape(-1).double()
    factor = 2.0 if exact is None else 1.0
    if exact is None:
        assert same is not None
        exact = same
    e = exact.reshape(-1).double()
    # The CPU without this dtype: the exact result, rounded.
    c = (same if same is not None else exact.to(dtype)).reshape(-1).double()
    e = torch.where(e.isfinite() | ~c.isfinite(), e, c)
    rounded = e.to(dtype).double()
    odd = ~d.isfinite()
    agree = (d == c) | (d.isnan() & c.isnan()) | (d == rounded) | (d.isnan() & e.isnan())
    if bool((wrong := (odd & ~agree) | (~odd & ~e.isfinite() & ~c.isfinite())).any()):
        index = int(wrong.to(torch.uint8).argmax())
        values = str(c[index].item()), str(d[index].item())
        return Difference("not finite", output, float("inf"), 0, 0, int(wrong.sum()), d.numel(), index, *values)
    zero = torch.zeros((), dtype=torch.float64, device="cpu")
    error = torch.where(odd | ~e.isfinite() | (d == c) | (d == rounded), zero, (d - e).abs())
    own = torch.where(c.isfinite() & e.isfinite(), (c - e).abs(), zero)
    size = torch.where(e.isfinite(), e.abs(), zero)
    worst = float(error.max())
    scaled, fixed = rule.limits(dtype, float(size.max()), d.numel())
    allowed = factor * (scaled * size + fixed)
    wrong = error > allowed
    relative, its = _medians(error, own, size, tiny)
    bound = FACTOR * its + MEDIAN_ULPS * eps
    systematic = d.numel() >= MEDIAN_FROM and relative > bound
    if systematic and (changed := sensitivity()) is not None and changed.shape == exact.shape:
        moved = torch.where(e.isfinite(), (changed.reshape(-1).double() - e).abs(), zero).nan_to_num(0, 0, 0)
        bound = max(bound, FACTOR * _medians(moved, moved, size, tiny)[0] + MEDIAN_ULPS * eps)
        systematic = relative > bound
    count = int(wrong.sum())
    index = int(torch.where(error > 0, error / allowed, zero).argmax())
    kind = "values" if count else "most values" if systematic else ""
    if kind == "most values":
        index = int((error / (size + tiny)).argmax())
    values = _number(e[index]), _number(d[index])
    limit = float(allowed[index])
    if kind == "most values":
        worst, limit = relative, bound
        count = int((error > bound * (size + tiny)).sum())
    return Difference(kind, output, worst, float(own.max()), limit, count, d.numel(), index, *values)


def _medians(error: Tensor, own: Tensor, size: Tensor, tiny: float) -> tuple[float, float]:
    """The medians of both relative errors, over elements that are not zero."""
    used = size > tiny
    if not bool(used.any()):
        return 0.0, 0.0
    relative = [float((one[used] / size[used]).median()) for one in (error, own)]
    return relative[0], relative[1]


def _number(value: Tensor) -> str:
    return f"{float(value):.9g}"


def kolmogorov(one: Tensor, other: Tensor) -> tuple[float, float]:
    """The distance of two samples' distributions, and the one that chance exceeds once in 10^9 pairs of samples
    (Smirnov's asymptotic bound, sqrt(ln(2 / p) / 2 * (1 / n + 1 / m)))."""
    a, b = (sample.reshape(-1).double()[: 1 << 16].sort().values for sample in (one, other))
    points = torch.cat([a, b])
    cumulative = [torch.searchsorted(own, points, right=True).double() / own.numel() for own in (a, b)]
    distance = float((cumulative[0] - cumulative[1]).abs().max())
    return distance, (0.5 * 21.416413 * (1 / a.numel() + 1 / b.numel())) ** 0.5
