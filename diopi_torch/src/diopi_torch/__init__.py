"""PyTorch on any device with a library of DIOPI. The package `torch_<vendor>` names the device and holds its libraries:

    from diopi_torch.package import *
    from diopi_torch.package import load

    load("droplet", __name__, __file__)

A process has one such device. What is in its modules works with whichever is loaded.
"""

from __future__ import annotations

# First: importing torch may import the vendor's package, which imports modules of this one.
import torch  # noqa: F401

from .package import (
    autocompare,
    device,
    dump_arguments,
    fallback_reasons,
    fallback_report,
    force_fallback,
    load,
    reset_fallback_report,
    write_fallback_report,
)

__version__ = "0.2.0"

__all__ = [
    "autocompare",
    "device",
    "dump_arguments",
    "fallback_reasons",
    "fallback_report",
    "force_fallback",
    "load",
    "reset_fallback_report",
    "write_fallback_report",
]
