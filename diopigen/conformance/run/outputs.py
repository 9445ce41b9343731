"""Bytes that a call has written: the same call on the same card must write the same bytes again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import numpy as np

from diopigen.conformance.dtypes import STORAGE, Array
from diopigen.conformance.run.prepare import ALLOCATED, Prepared
from diopigen.ir.model import Function, Parameter


@dataclass(frozen=True, slots=True)
class Output:
    """One output: the parameter, the dtype and shape of a tensor (else empty), and its elements as bytes."""

    parameter: str
    dtype: str
    shape: tuple[int, ...]
    content: bytes

    def difference(self, other: Output) -> str:
        """Describes the differences in `other`; empty if there are none."""
        if (self.dtype, self.shape) != (other.dtype, other.shape):
            return f"it is {_named(other)}, and was {_named(self)}"
        if self.content == other.content:
            return ""
        size = STORAGE[self.dtype].itemsize if self.dtype else 1
        before, now = (np.frombuffer(one, dtype=np.uint8).reshape(-1, size) for one in (self.content, other.content))
        rows = np.flatnonzero((before != now).any(axis=1))
        index = [int(one) for one in np.unravel_index(int(rows[0]), self.shape)] if self.shape else []
        what = f"{len(rows)} of {len(before)} elements have other bytes; first {index}"
        return f"{what}: 0x{bytes(before[rows[0]]).hex()}, then 0x{bytes(now[rows[0]]).hex()}"


def _named(output: Output) -> str:
    return f"{output.dtype}{list(output.shape)}"


def outputs_of(function: Function, ready: Prepared, compared: Set[str]) -> tuple[Output, ...]:
    """The outputs of a call that has succeeded. Where the oracle names what it answers for (`compared`), outputs
    besides are scratch memory, which a kernel may leave in any state."""
    written = [param for param in function.params if param.is_written or param.type in ALLOCATED]
    return tuple(output for param in written if not compared or param.name in compared for output in _of(param, ready))


def _of(param: Parameter, ready: Prepared) -> Iterator[Output]:
    name = param.name
    if param.type in ALLOCATED:
        for fetched in ready.allocated(name):
            if fetched is not None:
                yield _output(name, fetched.dtype, fetched.elements)
        return
    for block in ready.blocks.get(name, ()):
        if block is not None and block.base is not None:
            yield _output(name, block.dtype, block.elements(ready.after(block)))
    if name in ready.slots:
        yield Output(name, "", (), ready.slots[name].content)


def _output(name: str, dtype: str, elements: Array) -> Output:
    return Output(name, dtype, tuple(elements.shape), np.ascontiguousarray(elements).tobytes())


def digest_of(outputs: Sequence[Output]) -> str:
    """A digest of names, dtypes, shapes and bytes; empty without outputs."""
    if not outputs:
        return ""
    digest = hashlib.blake2b(digest_size=8)
    for output in outputs:
        digest.update(f"{output.parameter} {output.dtype} {output.shape} {len(output.content)} ".encode())
        digest.update(output.content)
    return digest.hexdigest()
