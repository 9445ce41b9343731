"""The backend "dicl" of torch.distributed: collectives between devices, over the functions of the vendor's library.

torch.distributed.init_process_group(f"cpu:gloo,{device}:dicl")
"""

from __future__ import annotations

import atexit
import weakref
from datetime import timedelta
from types import ModuleType
from typing import Any

import torch

from ._backend import extension, library_folder
from .indices import device_name

__all__ = ["BACKEND", "dump_collectives", "install"]

BACKEND = "dicl"
_MODULE = "diopi_collectives"
_module: ModuleType | None = None
_groups: weakref.WeakSet[Any] = weakref.WeakSet()


def install(name: str) -> None:
    """Makes the backend known for the device `name`. Its library is loaded when the first process group is made."""
    if not torch.distributed.is_available():
        return

    def create(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
        group = _library().create(store, rank, size, timeout)
        if not _groups:
            atexit.register(_end)
        _groups.add(group)
        return group

    # A list: in torch 2.13 a string is read letter by letter.
    torch.distributed.Backend.register_backend(BACKEND, create, devices=[name])


def _library() -> ModuleType:
    global _module
    if _module is None:
        _module = extension(_MODULE)
    if _module is None:
        path = library_folder() / f"{_MODULE}.so"
        fix = "build the tree with -DDIOPI_WITH_TORCH=ON where the headers of Python are installed"
        raise RuntimeError(f"the backend {BACKEND} is not built: {path} does not exist. {fix}")
    return _module


def dump_collectives(group: Any = None) -> str:
    """The last collectives of a process group, one a line: number, operation, shape, when it was issued, whether it has
    finished. The same text is written where a group fails (DIOPI_COLLECTIVES_DUMP=FILE, else standard error)."""
    pg = group if group is not None else torch.distributed.group.WORLD
    backend = pg._get_backend(torch.device(device_name()))
    assert _module is not None, f"no process group of the backend {BACKEND} was made"
    return str(_module.dump(backend))


def _end() -> None:
    """Groups that were not destroyed: what they still wait for would keep the process."""
    for group in list(_groups):
        group.abort()
