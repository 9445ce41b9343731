"""The device for `torch._dynamo`, which traces streams, events and devices of those that are registered with it."""

from __future__ import annotations

import importlib
from typing import Any

from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device

from . import memory, streams
from .indices import device_index, device_name

# The package itself has a function of that name.
functions: Any = importlib.import_module(f"{__package__}.device_functions")


class Interface(DeviceInterface):
    """The functions of the module of the device, under the names that PyTorch uses."""

    device = functions.device
    Event = streams.Event
    Stream = streams.Stream

    class Worker:
        """The device in processes that compile."""

        set_device = staticmethod(functions.set_device)
        current_device = staticmethod(functions.current_device)
        get_device_properties = staticmethod(functions.get_device_properties)

    current_device = staticmethod(functions.current_device)
    set_device = staticmethod(functions.set_device)
    device_count = staticmethod(functions.device_count)
    is_available = staticmethod(functions.is_available)
    stream = staticmethod(streams.stream)
    current_stream = staticmethod(streams.current_stream)
    set_stream = staticmethod(streams.set_stream)
    synchronize = staticmethod(streams.synchronize)
    get_device_properties = staticmethod(functions.get_device_properties)
    get_compute_capability = staticmethod(functions.get_device_capability)
    is_bf16_supported = staticmethod(functions.is_bf16_supported)
    memory_allocated = staticmethod(memory.memory_allocated)

    @staticmethod
    def exchange_device(index: int) -> int:
        """Makes a device the current one; returns the one before. A negative index changes nothing."""
        before: int = functions.current_device()
        functions.set_device(index)
        return before

    maybe_exchange_device = exchange_device

    @staticmethod
    def get_raw_stream(index: int) -> int:
        """The number of the calling thread's stream on a device."""
        return int(streams.current_stream(device_index(index)).stream_id)

    @staticmethod
    def _set_stream_by_id(stream_id: int, index: int, device_type: int) -> None:
        streams.set_stream(streams.Stream(stream_id=stream_id, device_index=index, device_type=device_type))

    @staticmethod
    def is_triton_capable(_: Any = None) -> bool:
        """No: kernels of Triton are for other devices."""
        return False


def register() -> None:
    """Registers the device under its name."""
    register_interface_for_device(device_name(), Interface)
