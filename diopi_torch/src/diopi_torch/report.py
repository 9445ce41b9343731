"""Calls that ran on the CPU instead of the device, with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, overload

import torch


@overload
def fallback_report(reasons: Literal[False] = False, compiled: bool = False) -> dict[str, int]: ...
@overload
def fallback_report(reasons: Literal[True], compiled: bool = False) -> dict[str, dict[str, int]]: ...
def fallback_report(reasons: bool = False, compiled: bool = False) -> dict[str, int] | dict[str, dict[str, int]]:
    """Calls by ATen overload that ran on the CPU since the start or the last reset, most frequent first.

    With `reasons`, by overload and reason: the status and the text of the vendor's function, which names the first
    check that failed; that the chip has no such operator; or what the interface does not have. Dtypes are those of the
    call's tensors.

    With `compiled`, calls that graphs of `torch.compile` made through the dispatcher, since no function serves them as
    they are; their kernels may still run on the device. `(graph)` stands for graphs that had to be interpreted.
    """
    counts: dict[str, dict[str, int]] = {}
    rows: Iterable[tuple[str, str, int]]
    if compiled:
        rows = zip(*torch.ops.diopi.compiled_calls(), strict=True)
    else:
        rows = ((name, reason, calls) for name, reason, _, _, calls in zip(*torch.ops.diopi.fallbacks(), strict=True))
    for name, reason, calls in rows:
        counts.setdefault(name, {})[reason] = calls
    ordered = sorted(counts.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))
    if not reasons:
        return {name: sum(found.values()) for name, found in ordered}
    return {name: dict(sorted(found.items(), key=lambda entry: -entry[1])) for name, found in ordered}


def fallback_reasons() -> dict[str, list[str]]:
    """The reasons alone, the most frequent first."""
    return {name: list(found) for name, found in fallback_report(reasons=True).items()}


def write_fallback_report(path: str | Path) -> None:
    """Appends the report to a file that `diopigen coverage --fallbacks` reads: a line of JSON for each overload and
    reason. `DIOPI_FALLBACK_REPORT=FILE` does so at the end of the process. Raises `OSError`."""
    with Path(path).open("a", encoding="utf-8") as file:
        for name, reason, function, status, calls in zip(*torch.ops.diopi.fallbacks(), strict=True):
            line = {"overload": name, "function": function, "status": status, "reason": reason, "calls": calls}
            file.write(json.dumps(line) + "\n")


def reset_fallback_report() -> None:
    """Starts to count again."""
    torch.ops.diopi.reset_fallbacks()
    torch.ops.diopi.reset_compiled_calls()
