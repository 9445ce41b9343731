"""What ran on the CPU instead of the device."""

from __future__ import annotations

import torch


def fallback_report() -> dict[str, int]:
    """Calls by ATen overload that ran on the CPU since the start or the last reset, most frequent first."""
    counts = torch.ops.diopi.fallback_counts()
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def fallback_reasons() -> dict[str, list[str]]:
    """Why the overloads of `fallback_report` ran on the CPU, with the dtypes of their tensors: up to 8 reasons each."""
    return dict(torch.ops.diopi.fallback_reasons())


def reset_fallback_report() -> None:
    """Starts to count again."""
    torch.ops.diopi.reset_fallback_counts()
