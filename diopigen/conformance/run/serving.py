"""A Python program in the place of the executor: it reads the frames that frames.py writes, and writes those that it
reads. Such a program has the library in its process; it has no expected values."""

from __future__ import annotations

import os
import platform
import resource
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from diopigen.conformance.dtypes import Array
from diopigen.conformance.run.fields import Fields, FrameError, integers_field, text_field
from diopigen.conformance.run.frames import (
    ANSWER,
    CALL,
    CLOSE,
    CLOSED,
    ELSEWHERE,
    ERROR,
    HEADER,
    HELLO,
    NO_SUCH_CALL,
    ON_HOST,
    OPEN,
    OPENED,
    PREPARE,
    PROTOCOL,
    READ,
    REPEATS,
    RUN,
    Answer,
    Form,
    TensorForm,
)
from diopigen.conformance.strides import Dims

IN_FORCE = "DIOPI_EXECUTOR_IN_FORCE"
"""Names of what confines this process, one a line; set by the program that started it."""


@dataclass(frozen=True, slots=True)
class TensorFields:
    """A tensor of a call. `base` is its storage, or 1 on the host for one alone; `parts` are those of a sparse one."""

    form: TensorForm
    shape: Dims
    base: int = 0
    offset: int = 0
    dtype: int = 0
    strides: Dims = ()
    parts: Dims = ()


@dataclass(frozen=True, slots=True)
class ArgumentFields:
    """An argument: its form, and its value as the form has it."""

    form: Form
    value: Any = None


@dataclass(frozen=True, slots=True)
class Request:
    """A call to make."""

    function: int
    storages: Sequence[tuple[bool, Array]]
    tensors: Sequence[TensorFields]
    seeds: Sequence[tuple[int, int]]
    arguments: Sequence[ArgumentFields]


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """The files and functions to open."""

    byte_dtype: int
    runtime: str
    library: str
    functions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Opened:
    """An open library: names, whether tensors are on a device, the state of each function."""

    vendor: str
    version: str
    has_device: bool
    states: Sequence[int]


class Served(Protocol):
    """Serves a library. Each method may raise `HostFailure`."""

    def open(self, request: OpenRequest) -> Opened:
        """Opens a library."""

    def call(self, request: Request) -> Answer:
        """Makes a call."""

    def close(self) -> str:
        """Leaves the library, and describes the error of that; empty if there is none."""


class HostFailure(Exception):
    """An error that is not the function's. `code` is of the protocol."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def serve(served: Served) -> int:
    """Answers the frames of standard input on standard output until the library is left; returns an exit status. What
    the library prints goes to standard error."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    while (head := requests.read(HEADER.size)) and len(head) == HEADER.size:
        kind, _, count = HEADER.unpack(head)
        fields = Fields(bytearray(requests.read(count)))
        try:
            if kind == OPEN:
                _send(answers, HELLO, _hello())
                _send(answers, OPENED, _opened(served.open(_open_request(fields))))
            elif kind == CALL:
                _send(answers, ANSWER, _answer(served.call(request_of(fields))))
            elif kind == CLOSE:
                _send(answers, CLOSED, [text_field(served.close())])
                return 0
            elif kind in (PREPARE, RUN, READ):
                raise HostFailure(NO_SUCH_CALL, "this executor makes no copies of calls to be timed")
            else:
                raise HostFailure("protocol", f"a frame is of an unknown kind {kind}")
        except HostFailure as error:
            _send(answers, ERROR, [text_field(error.code), text_field(str(error))])
        except MemoryError:
            _send(answers, ERROR, [text_field("memory"), text_field("memory is exhausted")])
            return 1
        except (FrameError, IndexError, ValueError) as error:
            _send(answers, ERROR, [text_field("protocol"), text_field(str(error))])
    return 0


def _send(answers: BinaryIO, kind: int, parts: Sequence[bytes]) -> None:
    payload = b"".join(parts)
    answers.write(HEADER.pack(kind, 0, len(payload)) + payload)
    answers.flush()


def _hello() -> list[bytes]:
    names = os.environ.get(IN_FORCE, "").split("\n") if os.environ.get(IN_FORCE) else []
    return [
        struct.pack("<I", PROTOCOL), text_field(platform.machine()), struct.pack("<I", len(names)),
        *map(text_field, names),
    ]  # fmt: skip


def _opened(found: Opened) -> list[bytes]:
    return [text_field(found.vendor), text_field(found.version), bytes([found.has_device, *found.states])]


def _answer(answer: Answer) -> list[bytes]:
    parts = [struct.pack("<iid", answer.status, answer.late, answer.seconds), text_field(answer.text)]
    parts += [text_field(answer.changed), struct.pack("<I", len(answer.writes))]
    parts += [struct.pack("<Iq", *one) for one in answer.writes]
    parts += [one.tobytes() for one in answer.storages]
    parts += answer.slots
    for one in answer.allocated:
        if one is None:
            parts.append(bytes([0]))
            continue
        parts += [struct.pack("<Bi", 1, one.dtype), integers_field(one.shape), integers_field(one.strides)]
        parts += [struct.pack("<qQ", one.offset, one.storage.size), one.storage.tobytes()]
    parts += [struct.pack("<QQ", seed, offset) for seed, offset in answer.generators]
    return parts


def _open_request(fields: Fields) -> OpenRequest:
    limit, byte_dtype, _ = fields.unpack("<QiB")
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    list(fields.texts())  # for the program that confines this one
    return OpenRequest(byte_dtype, fields.text(), fields.text(), list(fields.texts()))


def request_of(fields: Fields) -> Request:
    """The call of a payload. Raises `FrameError` or `ValueError` for none."""
    function, count = fields.unpack("<II")
    storages = []
    for _ in range(count):
        bits, size = fields.unpack("<BQ")
        if bits & REPEATS:
            raise HostFailure(NO_SUCH_CALL, "this executor makes no calls with tensors in which a block repeats")
        storages.append((bool(bits & ON_HOST), fields.array(size)))
    tensors = [_tensor(fields) for _ in range(fields.unpack("<I")[0])]
    seeds = [(seed, offset) for seed, offset in (fields.unpack("<QQ") for _ in range(fields.unpack("<I")[0]))]
    arguments = [_argument(fields) for _ in range(fields.unpack("<I")[0])]
    return Request(function & ~ELSEWHERE, storages, tensors, seeds, arguments)


def _tensor(fields: Fields) -> TensorFields:
    form = TensorForm(fields.unpack("<B")[0])
    if form == TensorForm.CSR:
        (count,) = fields.unpack("<I")
        parts = fields.unpack(f"<{count}I")
        return TensorFields(form, fields.integers(), parts=parts)
    base, offset, dtype = fields.unpack("<Iqi")
    return TensorFields(form, fields.integers(), base, offset, dtype, fields.integers())


_NUMBERS = {
    Form.TENSOR: "<I",
    Form.GENERATOR: "<I",
    Form.INTEGER: "<q",
    Form.DOUBLE: "<d",
    Form.FLOAT: "<f",
    Form.HANDLES: "<I",
}


def _argument(fields: Fields) -> ArgumentFields:
    form = Form(fields.unpack("<B")[0])
    if form in _NUMBERS:
        return ArgumentFields(form, fields.unpack(_NUMBERS[form])[0])
    if form in (Form.TENSORS, Form.GENERATORS):
        (count,) = fields.unpack("<I")
        return ArgumentFields(form, fields.unpack(f"<{count}i"))
    if form in (Form.SIZE, Form.SIZE_POINTER):
        return ArgumentFields(form, fields.integers())
    if form == Form.SCALAR:
        (dtype,) = fields.unpack("<i")
        return ArgumentFields(form, (dtype, bytes(fields.raw(8))))
    if form in (Form.TEXT, Form.SLOT):
        (count,) = fields.unpack("<I")
        return ArgumentFields(form, bytes(fields.raw(count)))
    return ArgumentFields(form)
