"""Other libraries that know devices by name: they accept this one, or warn that they select the CPU instead.

transformers asks only devices that it knows whether they support bfloat16: this one answers where
`ACCELERATE_TORCH_DEVICE` names it. accelerate and Lightning select the CPU where they know none of the devices: that
becomes a warning that says how to train on this one. With `as_cuda` Lightning's comparison of a device's type with
"cuda" accepts it. A module of PyTorch that knows devices by name is changed in the same way.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import os
import sys
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from . import random_state
from .indices import device_name

Change = Callable[[types.ModuleType], None]
_SWITCH = "import diopi_torch.as_cuda, or set DIOPI_AS_CUDA=1"


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


def _warn(library: str, fix: str) -> None:
    name = device_name()
    if torch.get_device_module(name).is_available():
        warnings.warn(f"{library} does not know {name} and selects the CPU: {fix}", stacklevel=3)


def _warn_in_lightning(module: types.ModuleType) -> None:
    """`accelerator="auto"`: the CPU where no device is one that Lightning knows."""
    connector: Any = getattr(module, "_AcceleratorConnector", None) or module._Connector
    choose = connector._choose_auto_accelerator

    @functools.wraps(choose)
    def choose_and_warn() -> Any:
        selected = choose()
        if selected == "cpu":
            _warn("Lightning", _SWITCH)
        return selected

    connector._choose_auto_accelerator = staticmethod(choose_and_warn)


def _warn_in_accelerate(module: types.ModuleType) -> None:
    """The device of `Accelerator()`, and so of the Trainer of transformers, where neither the script nor the
    environment names one."""
    state: Any = module.PartialState
    select = state.default_device.fget

    @functools.wraps(select)
    def select_and_warn(self: Any) -> Any:
        selected = select(self)
        if selected.type == "cpu":
            _warn("accelerate", f"set ACCELERATE_TORCH_DEVICE={device_name()}, or {_SWITCH}")
        return selected

    state.default_device = property(select_and_warn)


def _place_in_accelerate(module: types.ModuleType) -> None:
    """`device_map="auto"` of transformers and accelerate asks for the free memory of devices by number, and asks
    CUDA and other devices that it knows."""
    modeling: Any = module
    get = modeling.get_max_memory

    @functools.wraps(get)
    def get_max_memory(max_memory: Any = None) -> Any:
        if max_memory is None:
            max_memory = get()
            devices = torch.get_device_module(device_name())
            if not any(isinstance(key, int) for key in max_memory):
                max_memory |= {index: devices.mem_get_info(index)[0] for index in range(devices.device_count())}
        in_bytes = {
            key: modeling.convert_file_size_to_int(size) if isinstance(size, str) else size
            for key, size in max_memory.items()
        }
        numbered = {key: in_bytes[key] for key in sorted(key for key in in_bytes if isinstance(key, int))}
        return numbered | get({key: size for key, size in in_bytes.items() if key not in numbered})

    modeling.get_max_memory = get_max_memory


def _support_bfloat16_in_transformers(module: types.ModuleType) -> None:
    """`TrainingArguments(bf16=True)` asks CUDA and a list of other devices, and rejects all others."""
    arguments: Any = module
    is_supported = arguments.is_torch_bf16_gpu_available

    @functools.wraps(is_supported)
    def is_supported_here() -> bool:
        name = device_name()
        if os.environ.get("ACCELERATE_TORCH_DEVICE", "").partition(":")[0] == name:
            return bool(torch.get_device_module(name).is_bf16_supported())
        return bool(is_supported())

    arguments.is_torch_bf16_gpu_available = is_supported_here


def _refuse_context_parallel(module: types.ModuleType) -> None:
    """Its ring of attention is written for operators of CUDA, which return sums of exponentials; those of the device do
    not."""
    attention: Any = module
    enable = attention._enable_context_parallel_dispatcher_impl

    @functools.wraps(enable)
    def enable_elsewhere(seq_dim: int, mesh: Any) -> None:
        if mesh.device_type == device_name():
            raise NotImplementedError(
                f"context_parallel has no attention for {device_name()}: use tensor parallel, which divides heads"
            )
        enable(seq_dim, mesh)

    attention._enable_context_parallel_dispatcher_impl = enable_elsewhere


ALWAYS: dict[str, Change] = {
    "accelerate.state": _warn_in_accelerate,
    "accelerate.utils.modeling": _place_in_accelerate,
    "lightning.fabric.connector": _warn_in_lightning,
    "lightning.pytorch.trainer.connectors.accelerator_connector": _warn_in_lightning,
    "lightning_fabric.connector": _warn_in_lightning,
    "pytorch_lightning.trainer.connectors.accelerator_connector": _warn_in_lightning,
    "torch.distributed.tensor.experimental._context_parallel._attention": _refuse_context_parallel,
    "torch._prims.rng_prims": random_state.add_device,
    "transformers.training_args": _support_bfloat16_in_transformers,
}
AS_CUDA: dict[str, Change] = {
    f"{package}.accelerators.cuda": _accept_in_lightning
    for package in ("lightning.fabric", "lightning.pytorch", "lightning_fabric", "pytorch_lightning")
}


class _Changing(importlib.abc.MetaPathFinder):
    """Finds the modules of `changes` where Python does, and changes them once they have run. Another version of a
    library may lack what is changed; it stays as it is."""

    def __init__(self, changes: Mapping[str, Change]) -> None:
        self._changes = changes

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        change = self._changes.get(fullname)
        spec = None if change is None else importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if change is None or spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_and_change(module: types.ModuleType) -> None:
            run(module)
            _apply(change, module)

        spec.loader.exec_module = run_and_change  # type: ignore[method-assign]  # of this loader alone
        return spec


def _apply(change: Change, module: types.ModuleType) -> None:
    try:
        change(module)
    except AttributeError as error:
        warnings.warn(f"{module.__name__} of this version is used as it is: {error}", stacklevel=2)


def install(changes: Mapping[str, Change]) -> None:
    """Changes the modules that are imported, and others when they are."""
    for name, change in changes.items():
        if name in sys.modules:
            _apply(change, sys.modules[name])
    sys.meta_path.insert(0, _Changing(changes))
