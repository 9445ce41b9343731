"""Calls that ran on the CPU: operators by PyTorch's fallback, functions of the interface by the dispatch library's."""

from __future__ import annotations

import ctypes
import fcntl
import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from run_kind import ROOT, WHOLE

FOLDER = ROOT / "build/tests/pytorch"


@functools.cache
def functions() -> list[str]:
    """The functions of operators, by name."""
    described = json.loads((ROOT / "generated/diopi.json").read_text())
    return [function["name"] for header in described["headers"] for function in header["functions"]]


@functools.cache
def counter() -> Callable[[bytes | None], int]:
    """Number of calls of a function that ran on the reference library; None is all functions."""
    from diopi_torch._backend import library_folder

    count = ctypes.CDLL(str(library_folder() / "libtorch_droplet.so")).diopigenFallbackCount
    count.argtypes, count.restype = [ctypes.c_char_p], ctypes.c_uint64
    return count


class Functions:
    """Calls of the interface's functions that ran on the reference library since this was made."""

    def __init__(self) -> None:
        self._all = counter()(None)
        self._before = self._counts()

    def _counts(self) -> dict[str, int]:
        return {name: counter()(name.encode()) for name in functions()}

    def since(self) -> dict[str, int]:
        if counter()(None) == self._all:
            return {}
        now = self._counts()
        return {name: now[name] - before for name, before in self._before.items() if now[name] != before}


def note(kind: str, entry: Mapping[str, Any]) -> None:
    """Adds a line to the report of a kind of tests."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{kind}.jsonl").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write(json.dumps({"whole": WHOLE, **entry}) + "\n")
