"""What the reference libraries cover, by rule: every function of the interface proper, and those of extensions that
have an oracle. The libraries have no list: a function without a kernel returns diopiNoImplement."""

from __future__ import annotations

from diopigen.conformance.oracles import oracle_of
from diopigen.ir.model import Interface

EXTENSIONS = frozenset({"functions_mmcv.h"})


def without_kernel(interface: Interface) -> frozenset[str]:
    """The functions that need no kernel: those of extensions whose values no oracle knows."""
    return frozenset(f.name for f in interface.functions if f.header in EXTENSIONS and oracle_of(f) is None)
