"""The module of the device, as `torch.droplet`: what `torch.cuda` offers, over `torch.accelerator` where it has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from torch_droplet._backend import _loaded  # noqa: F401

_operators = torch.ops.diopi

Event = torch.Event
Stream = torch.Stream


def _name() -> str:
    return str(torch._C._get_privateuse1_backend_name())


def _index(device: Any) -> int:
    if device is None:
        return current_device()
    if isinstance(device, int):
        return current_device() if device < 0 else device
    found = torch.device(device)
    return current_device() if found.index is None else found.index


def is_available() -> bool:
    """Whether there is a device."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether the vendor's library has been started."""
    return bool(_operators.is_initialized())


def init() -> None:
    """Starts the vendor's library, which the first use does by itself."""
    _operators.initialize()


_lazy_init = init


def _is_in_bad_fork() -> bool:
    return False


def device_count() -> int:
    """The number of devices."""
    return int(_operators.device_count())


def current_device() -> int:
    """The index of the calling thread's device."""
    return int(torch.accelerator.current_device_index())


def set_device(device: Any) -> None:
    """Makes a device the calling thread's one; a negative index changes nothing."""
    if not isinstance(device, int) or device >= 0:
        torch.accelerator.set_device_index(_index(device))


class device:
    """A context in which another device is the current one."""

    def __init__(self, device: Any) -> None:
        self.index = _index(device) if device is not None else -1
        self.before = -1

    def __enter__(self) -> device:
        self.before = current_device()
        set_device(self.index)
        return self

    def __exit__(self, *_: object) -> None:
        set_device(self.before)


class device_of(device):
    """A context in which the device of a tensor is the current one."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.device if tensor.device.type == _name() else None)


def synchronize(device: Any = None) -> None:
    """Waits for all work of a device."""
    torch.accelerator.synchronize(_index(device))


def current_stream(device: Any = None) -> torch.Stream:
    """The calling thread's stream on a device."""
    return torch.accelerator.current_stream(_index(device))


def set_stream(stream: torch.Stream) -> None:
    """Makes a stream the calling thread's one."""
    torch.accelerator.set_stream(stream)


def stream(stream: torch.Stream) -> Any:
    """A context in which work goes to a stream."""
    return stream


def default_stream(device: Any = None) -> torch.Stream:
    """The stream that a device starts with."""
    return torch.Stream(stream_id=0, device_index=_index(device), device_type=torch.device(_name()).type)


# ---- Memory ----------------------------------------------------------------------------------------------------------


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold."""
    return int(torch.accelerator.memory_allocated(_index(device)))


def max_memory_allocated(device: Any = None) -> int:
    """The most that they held."""
    return int(torch.accelerator.max_memory_allocated(_index(device)))


def memory_reserved(device: Any = None) -> int:
    """Bytes that were asked of the device and not given back."""
    return int(torch.accelerator.memory_reserved(_index(device)))


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Counts and sums of the allocator."""
    return dict(torch.accelerator.memory_stats(_index(device)))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes of a device that are free, and all of them."""
    free, total = torch.accelerator.get_memory_info(_index(device))
    return int(free), int(total)


def empty_cache() -> None:
    """Gives memory that waits for its next use back to the device."""
    torch.accelerator.empty_cache()


# ---- Random numbers --------------------------------------------------------------------------------------------------


class _Generators:
    """The default generators by index."""

    def __getitem__(self, index: int) -> torch.Generator:
        return _operators.default_generator(index)

    def __len__(self) -> int:
        return device_count()


default_generators = _Generators()


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator."""
    default_generators[current_device()].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices."""
    for index in range(device_count()):
        default_generators[index].manual_seed(int(seed))


def seed() -> int:
    """Seeds the current device's generator by chance."""
    return default_generators[current_device()].seed()


def seed_all() -> None:
    """Seeds the generators of all devices by chance, all alike."""
    manual_seed_all(seed())


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return default_generators[current_device()].initial_seed()


def get_rng_state(device: Any = None) -> torch.Tensor:
    """The state of a device's generator: 16 bytes."""
    return default_generators[_index(device)].get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = None) -> None:
    """Sets it."""
    default_generators[_index(device)].set_state(new_state.cpu())


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets them."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


# ---- Properties ------------------------------------------------------------------------------------------------------


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that autocast may choose."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported() -> bool:
    """Always."""
    return True


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """There are no generations of the device."""
    _index(device)
    return 1, 0


def get_device_name(device: Any = None) -> str:
    """The name of the device."""
    _index(device)
    return _name()
