"""Other libraries that compare the type of a device with "cuda": with `as_cuda` they accept this device, too."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from torch_droplet.indices import device_name


def _accept_in_lightning(module: types.ModuleType) -> None:
    """Lightning's accelerator for CUDA checks the type of the device that it made of "cuda" before it selects it."""
    accelerator: Any = module.CUDAAccelerator
    setup_device = accelerator.setup_device

    @functools.wraps(setup_device)
    def accepting(self: Any, device: torch.device) -> None:
        if device.type == device_name():
            torch.cuda.set_device(device)
        else:
            setup_device(self, device)

    accelerator.setup_device = accepting


_CHANGES: dict[str, Callable[[types.ModuleType], None]] = {
    f"{package}.accelerators.cuda": _accept_in_lightning
    for package in ("lightning.fabric", "lightning.pytorch", "lightning_fabric", "pytorch_lightning")
}


class _Changing(importlib.abc.MetaPathFinder):
    """Finds the modules of `_CHANGES` where Python does, and changes them once they have run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        change = _CHANGES.get(fullname)
        spec = None if change is None else importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if change is None or spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_and_change(module: types.ModuleType) -> None:
            run(module)
            change(module)

        spec.loader.exec_module = run_and_change  # type: ignore[method-assign]  # of this loader alone
        return spec


def install() -> None:
    """Changes the modules that are imported, and others when they are."""
    for name, change in _CHANGES.items():
        if name in sys.modules:
            change(sys.modules[name])
    sys.meta_path.insert(0, _Changing())
