"""The edge to libclang: loads it on first use, and adds the few calls that its Python package leaves out.

The package has no types, so everything that comes from here is `Any`; only this package sees it.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from diopigen.diagnostics import failure

# Parse options, from clang-c/Index.h.
DETAILED_RECORD = 0x01  # macro definitions become cursors
INCOMPLETE = 0x02
FOR_SERIALIZATION = 0x04
SKIP_BODIES = 0x40
KEEP_GOING = 0x200  # go on after a fatal error, such as an include that does not exist

# Severities, from clang-c/Index.h.
ERROR = 3

_FIX = "pip install libclang==18.1.1"


@functools.lru_cache(maxsize=1)
def load() -> Any:
    """The module `clang.cindex` with its library loaded; a `Failure` (libclang-missing) where there is none."""
    try:
        import clang.cindex as cindex
    except ImportError:
        raise failure("libclang-missing", "the Python package libclang is not installed", fix=_FIX) from None
    try:
        lib = cindex.conf.lib
        _declare(cindex, lib)
    except (cindex.LibclangError, OSError, AttributeError) as fault:
        reason = str(fault).split("\n", maxsplit=1)[0]
        raise failure("libclang-missing", f"libclang does not load: {reason}", fix=_FIX) from None
    return cindex


def _declare(cindex: Any, lib: Any) -> None:
    pretty = lib.clang_getCursorPrettyPrinted
    pretty.argtypes = [cindex.Cursor, ctypes.c_void_p]
    pretty.restype = cindex._CXString
    pretty.errcheck = cindex._CXString.from_result
    invalid = lib.clang_isInvalidDeclaration
    invalid.argtypes = [cindex.Cursor]
    invalid.restype = ctypes.c_uint


def pretty_printed(cursor: Any) -> str:
    """The declaration as clang prints it: macros expanded, attributes spelled out, types as written."""
    return str(load().conf.lib.clang_getCursorPrettyPrinted(cursor, None))


def is_invalid(cursor: Any) -> bool:
    """Returns whether clang met an error in the declaration itself, so that its type may be a guess."""
    return bool(load().conf.lib.clang_isInvalidDeclaration(cursor))
