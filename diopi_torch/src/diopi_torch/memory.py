"""Memory of the device, as `torch.cuda.memory`. Sizes are bytes."""

from __future__ import annotations

from typing import Any

import torch

from .indices import device_index

__all__ = [
    "device_memory_used",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]

_operators = torch.ops.diopi
_fractions: dict[int, float] = {}


def memory_allocated(device: Any = None) -> int:
    """Bytes in use by tensors."""
    return int(torch.accelerator.memory_allocated(device_index(device)))


def max_memory_allocated(device: Any = None) -> int:
    """The most that they held since the start, or since `reset_peak_memory_stats`."""
    return int(torch.accelerator.max_memory_allocated(device_index(device)))


def memory_reserved(device: Any = None) -> int:
    """Bytes allocated on the device and not yet freed."""
    return int(torch.accelerator.memory_reserved(device_index(device)))


def max_memory_reserved(device: Any = None) -> int:
    """The most of it since the start, or since `reset_peak_memory_stats`."""
    return int(torch.accelerator.max_memory_reserved(device_index(device)))


memory_cached = memory_reserved
max_memory_cached = max_memory_reserved


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Counts and sums of the allocator, as `allocated_bytes.all.peak`."""
    return dict(torch.accelerator.memory_stats(device_index(device)))


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The same, a dictionary in a dictionary for each dot."""
    return _nested(memory_stats(device))


def _nested(stats: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in stats.items():
        *folders, last = name.split(".")
        inner = nested
        for folder in folders:
            inner = inner.setdefault(folder, {})
        inner[last] = value
    return nested


def reset_peak_memory_stats(device: Any = None) -> None:
    """Starts the peaks again from what is held now."""
    torch.accelerator.reset_peak_memory_stats(device_index(device))


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Starts the sums of what was ever allocated and freed again from 0."""
    torch.accelerator.reset_accumulated_memory_stats(device_index(device))


reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a device; zeros if it does not report them."""
    free, total = torch.accelerator.get_memory_info(device_index(device))
    return int(free), int(total)


def device_memory_used(device: Any = None) -> int:
    """Bytes in use on a device, by any process."""
    free, total = mem_get_info(device)
    return total - free


def empty_cache() -> None:
    """Gives memory that waits for its next use back to the device."""
    torch.accelerator.empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Lets this process have so much of a device's memory, from 0 to 1; beyond it is `torch.OutOfMemoryError`."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = device_index(device)
    _operators.set_memory_fraction(index, float(fraction))
    _fractions[index] = float(fraction)


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Fraction set by `set_per_process_memory_fraction`, else 1."""
    return _fractions.get(device_index(device), 1.0)


def get_allocator_backend() -> str:
    """The one allocator there is."""
    return "native"


def host_memory_stats() -> dict[str, Any]:
    """Counts and sums of pinned memory of the host, as `active_bytes.peak`."""
    return {str(name): int(value) for name, value in _operators.host_memory_stats().items()}


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """The same, a dictionary in a dictionary for each dot."""
    return _nested(host_memory_stats())


def reset_accumulated_host_memory_stats() -> None:
    """Starts the sums of pinned memory that was ever allocated and freed again from 0."""
    _operators.reset_host_memory_stats(False)


def reset_peak_host_memory_stats() -> None:
    """Starts the peaks of pinned memory again from what is held now."""
    _operators.reset_host_memory_stats(True)


def list_gpu_processes(device: Any = None) -> str:
    """A device of the interface does not tell who uses it."""
    return f"GPU:{device_index(device)}\nthe device does not list its processes"


_ROWS = (
    ("Allocated memory", "allocated_bytes", True),
    ("Active memory", "active_bytes", True),
    ("Requested memory", "requested_bytes", True),
    ("Reserved memory", "reserved_bytes", True),
    ("Allocations", "allocation", False),
    ("Active allocations", "active", False),
    ("Reserved segments", "segment", False),
)


def _size(value: int) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(value) >= 10240 and len(units) > 1:
        value //= 1024
        del units[0]
    return f"{value} {units[0]}"


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of the allocator's statistics, for people. `abbreviated` leaves out what is not in bytes."""
    index, stats = device_index(device), memory_stats(device)
    head = f"{'Metric':<20} {'Current':>12} {'Peak':>12} {'Allocated':>12} {'Freed':>12}"
    lines = [f"Memory of device {index}", head, "-" * len(head)]
    for title, name, is_size in _ROWS:
        if abbreviated and not is_size:
            continue
        values = [int(stats.get(f"{name}.all.{column}", 0)) for column in ("current", "peak", "allocated", "freed")]
        lines.append(f"{title:<20} " + " ".join(f"{_size(one) if is_size else one:>12}" for one in values))
    lines.append(
        f"Out of memory: {stats.get('num_ooms', 0)}; retries after emptying the cache: "
        f"{stats.get('num_alloc_retries', 0)}"
    )
    return "\n".join(lines) + "\n"
