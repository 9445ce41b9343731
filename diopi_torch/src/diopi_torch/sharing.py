"""Tensors of the device between processes: refused in a sentence, since the interface has no handles of memory.

PyTorch pickles them for `multiprocessing` as memory of the CPU, which fails in the thread that feeds a queue: the
sender prints a traceback there, and the receiver waits forever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any, NoReturn

import torch
from torch.multiprocessing import reductions

_FEEDER = "QueueFeederThread"
"""The thread of `multiprocessing.Queue` that pickles, long after `put` has returned."""


def _refuse(text: str) -> NoReturn:
    raise RuntimeError(text)


def _reduce(storage: torch.UntypedStorage, device_type: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Pickles a storage. One of the device raises `RuntimeError`: here, or, from the thread that feeds a queue, where
    the queue is read."""
    if storage.device.type != device_type:
        return reductions.reduce_storage(storage)  # type: ignore[no-any-return]  # PyTorch has no types
    text = (
        f"tensors of {device_type} are not shared between processes: send tensor.cpu(), and move it to the device there"
    )
    if threading.current_thread().name == _FEEDER:
        return _refuse, (text,)
    _refuse(text)


def install(device_type: str) -> None:
    """Lets queues, pipes and arguments of processes refuse tensors of the device."""
    reduction.register(torch.UntypedStorage, lambda storage: _reduce(storage, device_type))
