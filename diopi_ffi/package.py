"""The package tvm_ffi, imported when it is first needed."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

_KINDS = (NotImplementedError, OSError)
"""Errors of packed functions that tvm-ffi would map to `RuntimeError`."""


@cache
def tvm_ffi() -> Any:
    """The module tvm_ffi. Raises `ImportError` with how it is installed."""
    try:
        found = importlib.import_module("tvm_ffi")
    except ImportError as error:
        raise ImportError(f"diopi_ffi needs the package apache-tvm-ffi: pip install apache-tvm-ffi ({error})") from None
    for kind in _KINDS:
        found.register_error(kind.__name__, kind)
    return found
