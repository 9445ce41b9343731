"""The module of the device, as `torch.<vendor>`: what `torch.cuda` offers, over `torch.accelerator` where it has it.

A name of `torch.cuda` that has no counterpart here raises `AttributeError` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from . import amp, memory, nvtx, random, streams
from . import capture as graphs
from .capture import *  # noqa: F403  # its __all__ is public here too
from .compiler import (  # noqa: F401  # inductor asks the module for them
    CppWrapperCodegen,
    PythonWrapperCodegen,
    Scheduling,
    WrapperFxCodegen,
)
from .indices import device_index, device_name
from .memory import *  # noqa: F403  # its __all__ is public here too
from .missing import reason
from .random import *  # noqa: F403  # its __all__ is public here too
from .streams import *  # noqa: F403  # its __all__ is public here too

__all__ = [
    "DeferredCallError",
    "amp",
    "can_device_access_peer",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "get_amp_supported_dtype",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_sync_debug_mode",
    "graphs",
    "has_half",
    "has_magma",
    "init",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "memory",
    "nvtx",
    "random",
    "set_device",
    "set_sync_debug_mode",
    "streams",
    *graphs.__all__,
    *memory.__all__,
    *random.__all__,
    *streams.__all__,
]

_operators = torch.ops.diopi

has_half = True
"""True if there are tensors of float16."""
has_magma = False
"""Linear algebra comes from the vendor's library or from the CPU."""


class DeferredCallError(Exception):
    """A call that waited for the first use of the device failed; here no call waits."""


def __getattr__(name: str) -> Any:
    if name == "_initialized":  # checkpoints of activations read it, to save the random state
        return is_initialized()
    raise AttributeError(f"torch.{device_name()} has no attribute {name!r}{reason(name)}")


def is_available() -> bool:
    """Returns whether there is a device."""
    return device_count() > 0


def is_initialized() -> bool:
    """Returns whether the vendor's library has been started, in this process."""
    return bool(_operators.is_initialized()) and not _is_in_bad_fork()


def init() -> None:
    """Starts the vendor's library, which the first use does by itself. Raises `RuntimeError` in the child of a process
    that had started it."""
    _operators.initialize()


_lazy_init = init


def _lazy_call(callable: Callable[[], Any], **_: Any) -> None:
    """Calls at once: starting the device early costs nothing that waiting would save."""
    init()
    callable()


def _is_in_bad_fork() -> bool:
    return bool(_operators.is_forked())


def device_count() -> int:
    """The number of devices."""
    return int(_operators.device_count())


def current_device() -> int:
    """The index of the calling thread's device."""
    return int(torch.accelerator.current_device_index())


def set_device(device: Any) -> None:
    """Makes a device the calling thread's one; a negative index changes nothing."""
    if not isinstance(device, int) or device >= 0:
        torch.accelerator.set_device_index(device_index(device))


class device:
    """A context in which another device is the current one."""

    def __init__(self, device: Any) -> None:
        self.idx = device_index(device) if device is not None else -1
        self.prev_idx = -1

    def __enter__(self) -> device:
        self.prev_idx = current_device()
        set_device(self.idx)
        return self

    def __exit__(self, *_: object) -> None:
        set_device(self.prev_idx)


class device_of(device):
    """A context in which the device of a tensor is the current one."""

    def __init__(self, obj: torch.Tensor) -> None:
        super().__init__(obj.device if obj.device.type == device_name() else None)


def ipc_collect() -> None:
    """Nothing: memory is not shared between processes."""


# ---- Properties ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Properties:
    """Counterpart of the result of `torch.cuda.get_device_properties`, with the properties that a device reports."""

    name: str
    major: int
    minor: int
    total_memory: int
    """Bytes; 0 where the device does not tell."""
    multi_processor_count: int = 1


def get_device_properties(device: Any = None) -> _Properties:
    """Name, generation (1.0) and memory of a device."""
    index = device_index(device)
    return _Properties(get_device_name(index), *get_device_capability(index), memory.mem_get_info(index)[1])


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Always (1, 0): there are no generations of the device."""
    device_index(device)
    return 1, 0


def get_device_name(device: Any = None) -> str:
    """The name of the device."""
    device_index(device)
    return device_name()


def get_arch_list() -> list[str]:
    """Empty: kernels are those of the vendor's library."""
    return []


def get_gencode_flags() -> str:
    """Empty, as the list of architectures."""
    return ""


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Returns whether a device reads the memory of another one: tensors are copied between any two."""
    return device_index(device) != device_index(peer_device)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that autocast may choose."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Always."""
    return True


def is_tf32_supported() -> bool:
    """Never: float32 is computed in float32."""
    return False


def get_sync_debug_mode() -> int:
    """0: calls that wait for the device are not reported."""
    return 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Takes 0 or "default"; anything else raises `RuntimeError`."""
    if debug_mode not in (0, "default"):
        raise RuntimeError(f"torch.{device_name()} does not report calls that wait for the device")
