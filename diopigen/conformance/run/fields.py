"""Fields of a frame (docs/executor.md): numbers, texts and lists without padding, in little-endian byte order."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.strides import Dims

_LONGEST = 4096
"""Bytes of a text that are shown."""


class FrameError(Exception):
    """A frame that is not of the protocol, or that describes what cannot be."""


class Fields:
    """Reads the fields of a payload in order. Raises `FrameError` where they are not there."""

    def __init__(self, payload: bytearray) -> None:
        self._payload = memoryview(payload)
        self._at = 0

    def raw(self, count: int) -> memoryview:
        """Bytes."""
        if count > len(self._payload) - self._at:
            raise FrameError("an answer ends before its fields do")
        self._at += count
        return self._payload[self._at - count : self._at]

    def array(self, count: int) -> Array:
        """Bytes as an array of its own alignment."""
        return np.frombuffer(bytearray(self.raw(count)), dtype=np.uint8)

    def unpack(self, form: str) -> tuple[Any, ...]:
        """Numbers of a form of `struct`."""
        return struct.unpack(form, self.raw(struct.calcsize(form)))

    def integers(self) -> Dims:
        """A list of integers."""
        (count,) = self.unpack("<I")
        return tuple(struct.unpack(f"<{count}q", self.raw(8 * count)))

    def text(self) -> str:
        """A text; what is no UTF-8 is replaced."""
        (count,) = self.unpack("<I")
        return printable(bytes(self.raw(count)))

    def texts(self) -> Iterator[str]:
        """A list of texts."""
        (count,) = self.unpack("<I")
        return (self.text() for _ in range(count))

    def end(self) -> None:
        """Checks that nothing is left."""
        if self._at != len(self._payload):
            raise FrameError("an answer has bytes behind its fields")


class StreamedFields(Fields):
    """Reads the fields of a payload of `count` bytes while they come: `receive` returns the next ones."""

    def __init__(self, count: int, receive: Callable[[int], bytearray]) -> None:
        super().__init__(bytearray())
        self._left, self._receive = count, receive

    def raw(self, count: int) -> memoryview:
        """Bytes."""
        if count > self._left:
            raise FrameError("an answer ends before its fields do")
        self._left -= count
        return memoryview(self._receive(count))

    def end(self) -> None:
        """Checks that nothing is left."""
        if self._left:
            raise FrameError("an answer has bytes behind its fields")


def printable(text: bytes) -> str:
    """A text of a library in one line: no control characters, which a terminal would follow, and not endless."""
    shown = text[:_LONGEST].decode(errors="replace")
    return "".join(one if one.isprintable() else " " for one in shown).strip()


def text_field(value: str) -> bytes:
    raw = value.encode(errors="surrogateescape")
    return struct.pack("<I", len(raw)) + raw


def texts_field(values: Sequence[str]) -> bytes:
    return struct.pack("<I", len(values)) + b"".join(map(text_field, values))


def integers_field(values: Sequence[int]) -> bytes:
    return struct.pack(f"<I{len(values)}q", len(values), *values)
