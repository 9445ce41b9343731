"""Compares what a vendor's libraries were built for with the torch and the Python that load them."""

from __future__ import annotations

import mmap
import platform
import re
from pathlib import Path

import torch

_LENGTH = 16
"""The bytes that a release may take."""


def require_torch(library: Path) -> None:
    """Raises `ImportError` where a library of the backend was built for another minor release of torch.

    Torch's C++ classes change with each minor. The library is read, not loaded: with another torch it may fail to load,
    or compute wrong results.
    """
    _require(library, "torch", torch.__version__, "pip install 'torch=={}.*'")


def require_python(module: Path) -> None:
    """Raises `ImportError` where a module of Python next to the library was built for another minor of Python."""
    _require(module, "Python", platform.python_version(), "run it with Python {}")


def _require(library: Path, product: str, present: str, remedy: str) -> None:
    built_for = _built_for(library, product)
    minor = ".".join(present.split(".")[:2])
    if built_for == minor:
        return
    if built_for is None:
        raise ImportError(f"{library} does not tell its release of {product}, here {minor}: build it again")
    fix = f"build it again, or {remedy.format(built_for)}"
    raise ImportError(f"{library} was built for {product} {built_for}, and this is {product} {minor}: {fix}")


def _built_for(library: Path, product: str) -> str | None:
    """The minor release that a library's text names."""
    mark = f"diopigen: built for {product} ".encode()
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(mark) + len(mark)
        text = content[start : start + _LENGTH] if start >= len(mark) else b""
    release = re.match(rb"[0-9]+\.[0-9]+", text)
    return None if release is None else release[0].decode()
