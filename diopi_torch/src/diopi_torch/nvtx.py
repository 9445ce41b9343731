"""Named ranges, as `torch.cuda.nvtx`: `torch.profiler` shows them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_open = threading.local()
_started: dict[int, Any] = {}
_lock = threading.Lock()


def _stack() -> list[Any]:
    if not hasattr(_open, "stack"):
        _open.stack = []
    stack: list[Any] = _open.stack
    return stack


def range_push(msg: str) -> int:
    """Opens a range of the calling thread; its depth, from 0."""
    record = torch.profiler.record_function(msg)
    record.__enter__()
    _stack().append(record)
    return len(_stack()) - 1


def range_pop() -> int:
    """Closes the calling thread's last range; its depth, or -2 where none is open, as with CUDA."""
    if not _stack():
        return -2
    _stack().pop().__exit__(None, None, None)
    return len(_stack())


def range_start(msg: str) -> int:
    """Opens a range that may end anywhere in the thread; its handle."""
    record = torch.profiler.record_function(msg)
    record.__enter__()
    with _lock:
        handle = max(_started, default=0) + 1
        _started[handle] = record
    return handle


def range_end(range_id: int) -> None:
    """Closes such a range; an unknown handle changes nothing."""
    with _lock:
        record = _started.pop(range_id, None)
    if record is not None:
        record.__exit__(None, None, None)


def mark(msg: str) -> None:
    """A range without length."""
    with torch.profiler.record_function(msg):
        pass


@contextmanager
def range(msg: str, *arguments: Any, **options: Any) -> Iterator[None]:
    """A context whose name is formatted with the arguments."""
    with torch.profiler.record_function(msg.format(*arguments, **options)):
        yield
