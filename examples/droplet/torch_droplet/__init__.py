"""PyTorch on droplet: `import torch`, and the device "droplet" is there.

Without autoload (`TORCH_DEVICE_BACKEND_AUTOLOAD=0`) import this package yourself. The libraries are in `lib/` next to
it, or where `TORCH_DROPLET_LIBRARIES` says.
"""

from __future__ import annotations


def _autoload() -> None:
    """What the entry point `torch.backends` calls when torch is imported: importing this package is enough."""


# Behind _autoload: where this package is imported before torch, torch asks for it while this file still runs.
from torch_droplet import _backend  # noqa: E402  # see above

_backend.load("droplet")

from torch_droplet.report import (  # noqa: E402  # needs the loaded backend
    fallback_reasons,
    fallback_report,
    reset_fallback_report,
    write_fallback_report,
)
from torch_droplet.switches import autocompare, dump_arguments, force_fallback  # noqa: E402  # needs the loaded backend

__all__ = [
    "autocompare",
    "device",
    "dump_arguments",
    "fallback_reasons",
    "fallback_report",
    "force_fallback",
    "reset_fallback_report",
    "write_fallback_report",
]


def device() -> str:
    """The name of the device in PyTorch."""
    return "droplet"
