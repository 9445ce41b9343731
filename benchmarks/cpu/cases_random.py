"""Random operators, float32. Both sides make their own numbers; only the time is compared."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn import functional

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("random",)


def cases(device: Device) -> Iterator[Case]:
    """Every operator at 1M and 16M elements."""
    for size, count in {"1M": 1 << 20, "16M": 1 << 24}.items():
        a, out, mask = torch.rand(count), torch.empty(count), torch.empty(count, dtype=torch.bool)
        integral = torch.empty(count, dtype=torch.int64)
        generator = device.generator(1)
        moved = 4 * count
        for name, ours, theirs in (
            ("diopiUniformInp", (out, 0.0, 1.0, generator), lambda a=a: a.uniform_()),
            ("diopiNormalInp", (out, 0.0, 1.0, generator), lambda a=a: a.normal_()),
            ("diopiBernoulliScalar", (out, 0.5, generator), lambda a=a: a.bernoulli_(0.5)),
            ("diopiBernoulli", (out, a.clone(), generator), lambda a=a: torch.bernoulli(a.clamp_(0, 1))),
            ("diopiRandomInp", (integral, 0, device.int64(1000), generator), lambda w=integral: w.random_(0, 1000)),
            ("diopiDropout", (out, mask, a, 0.5, True, generator), lambda a=a: functional.dropout(a, 0.5)),
            ("diopiRandperm", (integral, count, generator), lambda n=count: torch.randperm(n)),
        ):
            yield Case("random", name, size, device.call(name, *ours), theirs, bytes=moved)
