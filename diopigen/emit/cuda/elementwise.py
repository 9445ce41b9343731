"""The elementwise operators of the CUDA library: the loops of the CPU's, worded as functions of one element."""

from __future__ import annotations

from pathlib import Path

from diopigen.emit.cpp_text import CUDA
from diopigen.emit.cpu.elementwise import Form, elementwise_files
from diopigen.emit.plan import Plan
from diopigen.ir.model import Interface

TARGET = "cuda"

FORM = Form(
    TARGET,
    ".cu",
    "diopi_cuda/elementwise.h",
    CUDA,
    "item",
    "const auto {name} = item.input<{type}>({k});",
    "auto& {name} = item.output<{type}>({k});",
    "int64_t",
    "KernelCall",
    "launches",
    "KernelList",
)


def emit(interface: Interface, templates: Path) -> Plan:
    """`cuda/<family>.cu`. Raises `Failure` where a kernel cannot be printed."""
    return Plan(elementwise_files(interface, templates, FORM))
