"""Finds the wrong, the slow and the overflowing operator of a PyTorch program, on any device.

    with optools.capture("folder"): ...
    with optools.compare() as found: ...

Nothing is imported before it is used: the entry point that torch loads costs nothing where no tool is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optools.aliases import OpAutoCompare, OpCapture, OpDtypeCast, OpFallback, OpOverflowCheck, OpTimeMeasure
    from optools.capturing import Capture as capture
    from optools.casting import Cast as cast
    from optools.comparing import Compare as compare
    from optools.falling_back import Fallback as fallback
    from optools.overflowing import Overflows as overflow
    from optools.replaying import replay
    from optools.timing import Timing as timing
    from optools.trying import Wrong as wrong

__version__ = "0.2.0"
_HOMES = {
    "capture": ("capturing", "Capture"),
    "cast": ("casting", "Cast"),
    "compare": ("comparing", "Compare"),
    "fallback": ("falling_back", "Fallback"),
    "overflow": ("overflowing", "Overflows"),
    "replay": ("replaying", "replay"),
    "timing": ("timing", "Timing"),
    "wrong": ("trying", "Wrong"),
    "OpAutoCompare": ("aliases", "OpAutoCompare"),
    "OpCapture": ("aliases", "OpCapture"),
    "OpDtypeCast": ("aliases", "OpDtypeCast"),
    "OpFallback": ("aliases", "OpFallback"),
    "OpOverflowCheck": ("aliases", "OpOverflowCheck"),
    "OpTimeMeasure": ("aliases", "OpTimeMeasure"),
}


def step() -> None:
    """Ends a training step, for programs whose steps do not end with that of an optimizer."""
    from optools.context import CONTEXT

    CONTEXT.next_step()


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'optools' has no attribute '{name}'")
    return getattr(importlib.import_module(f"optools.{home[0]}"), home[1])


__all__ = [
    "OpAutoCompare",
    "OpCapture",
    "OpDtypeCast",
    "OpFallback",
    "OpOverflowCheck",
    "OpTimeMeasure",
    "capture",
    "cast",
    "compare",
    "fallback",
    "overflow",
    "replay",
    "step",
    "timing",
    "wrong",
]
