"""Finds the wrong, the slow and the overflowing operator of a PyTorch program, on any device.

with optools.capture("folder"): ...
with optools.compare() as found: ...
"""

from __future__ import annotations

from optools.capture import Capture as capture
from optools.compare import Compare as compare
from optools.context import CONTEXT
from optools.replay import replay

__version__ = "0.1.0"


def step() -> None:
    """Ends a training step, for programs whose steps do not end with that of an optimizer."""
    CONTEXT.next_step()


__all__ = ["capture", "compare", "replay", "step"]
