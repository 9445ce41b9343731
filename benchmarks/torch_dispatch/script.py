"""Small operators as a Python script sees them: the call, the launch, the queue and, if it reads a value, the wait.

Both devices run in one process and take turns. An operator without a wait runs in loops that end with one
synchronisation, so that the work itself is counted too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

REPEATS = 25
LOOPS = 400


@dataclass(frozen=True)
class Line:
    """One operator: nanoseconds of a call on the CPU and on droplet, and the ratio that is promised."""

    name: str
    cpu: float
    device: float
    promised: float


def lines() -> list[Line]:
    """The fastest of several loops over each operator."""
    import torch
    import torch_droplet  # noqa: F401  # the device

    found = []
    with torch.no_grad():
        for name, promised, make in _operators():
            calls = {device: make(device) for device in ("cpu", "droplet")}
            best = {device: float("inf") for device in calls}
            for _ in range(REPEATS):
                for device, call in calls.items():
                    best[device] = min(best[device], _time(call, device))
            found.append(Line(name, best["cpu"], best["droplet"], promised))
    return found


def _time(call: Callable[[], object], device: str) -> float:
    import torch

    start = time.perf_counter_ns()
    for _ in range(LOOPS):
        call()
    if device != "cpu":
        torch.accelerator.synchronize()
    return (time.perf_counter_ns() - start) / LOOPS


def _operators() -> list[tuple[str, float, Callable[[str], Callable[[], object]]]]:
    """Name, promised ratio, and what makes the call for a device."""
    import torch

    def add(device: str) -> Callable[[], object]:
        a, b = torch.ones(1, device=device), torch.ones(1, device=device)
        return lambda: torch.add(a, b)

    def add_out(device: str) -> Callable[[], object]:
        a, b, out = (torch.ones(1, device=device) for _ in range(3))
        return lambda: torch.add(a, b, out=out)

    def add_integers(device: str) -> Callable[[], object]:
        a, b = torch.arange(100, device=device), torch.arange(100, device=device)
        return lambda: torch.add(a, b)

    def add_number(device: str) -> Callable[[], object]:
        a = torch.arange(100, device=device)
        return lambda: a + 1

    def compare(device: str) -> Callable[[], object]:
        a, b = torch.arange(100, device=device), torch.arange(100, device=device)
        return lambda: a == b

    def index(device: str) -> Callable[[], object]:
        a, rows = torch.ones(100, 4, device=device), torch.arange(50, device=device)
        return lambda: a[rows]

    def item(device: str) -> Callable[[], object]:
        a = torch.ones((), dtype=torch.int64, device=device)
        return lambda: a.item()

    return [
        ("add", 1.2, add),
        ("add(out=)", 1.2, add_out),
        ("int64 add, 100 elements", 1.2, add_integers),
        ("int64 + 1, 100 elements", 1.2, add_number),
        ("int64 ==, 100 elements", 1.2, compare),
        ("index by a tensor of 50", 1.2, index),
        ("item()", 1.2, item),
    ]
