"""Streams and events of the device, as `torch.cuda.streams`."""

from __future__ import annotations

from typing import Any

import torch

from .indices import device_index

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "is_current_stream_capturing",
    "set_stream",
    "stream",
    "synchronize",
]

Event = torch.Event
Stream = torch.Stream

_DEVICE_TYPE = int(torch._C._autograd.DeviceType.PrivateUse1.value)


def synchronize(device: Any = None) -> None:
    """Waits for all work of a device."""
    torch.accelerator.synchronize(device_index(device))


def current_stream(device: Any = None) -> torch.Stream:
    """The calling thread's stream on a device."""
    return torch.accelerator.current_stream(device_index(device))


def default_stream(device: Any = None) -> torch.Stream:
    """The stream that a device starts with."""
    return torch.Stream(stream_id=0, device_index=device_index(device), device_type=_DEVICE_TYPE)


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream the calling thread's one; None changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """A context in which work goes to a stream of its device; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> StreamContext:
        if self.stream is not None:
            self.stream.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        if self.stream is not None:
            self.stream.__exit__(*details)


def stream(stream: torch.Stream | None) -> StreamContext | torch.Stream:
    """A context in which work goes to a stream: the stream itself, which torch.compile traces."""
    return StreamContext(None) if stream is None else stream


def is_current_stream_capturing() -> bool:
    """Returns whether work of the calling thread's stream is being captured into a graph."""
    return bool(torch.ops.diopi.is_capturing(device_index(None)))
