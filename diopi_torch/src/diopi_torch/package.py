"""Names that a vendor's package exports: `from diopi_torch.package import *`. `load` makes the device."""

from __future__ import annotations

from ._backend import is_loaded, load, vendor
from .capture import Graph, graph
from .report import fallback_reasons, fallback_report, reset_fallback_report, write_fallback_report
from .switches import autocompare, dump_arguments, force_fallback

__all__ = [
    "Graph",
    "autocompare",
    "device",
    "dump_arguments",
    "fallback_reasons",
    "fallback_report",
    "force_fallback",
    "graph",
    "is_loaded",
    "load",
    "reset_fallback_report",
    "write_fallback_report",
]


def device() -> str:
    """The name of the device in PyTorch."""
    return vendor().name
