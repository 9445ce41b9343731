"""The process that has the library under test: started, asked, and ended where it does not answer.

The program is `runtime/executor`, or any other that speaks the protocol of frames.py. Nothing that it sends decides: it
has no expected values, and of each call the suite takes one answer.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.conformance.run.compiled import Recipe, compiled
from diopigen.conformance.run.fields import Fields, FrameError, StreamedFields
from diopigen.conformance.run.frames import (
    ANSWER,
    CALL,
    CLOSE,
    CLOSED,
    CONFINED,
    DONE,
    ERROR,
    HEADER,
    HELLO,
    OPEN,
    OPENED,
    PREPARE,
    PROTOCOL,
    READ,
    RUN,
    Answer,
    Argument,
    Frame,
    Rotation,
    copies_field,
    opening,
)
from diopigen.conformance.run.loaded import serving_libraries
from diopigen.diagnostics import failure
from diopigen.package import package_data

_PIPE = 1 << 20
"""Bytes that a pipe holds, where the system allows so many: most frames are then one write."""
_F_SETPIPE_SZ = 1031
_CHUNK = 1 << 20
_LONGEST_TEXT = 16_000
_LONGEST_FRAME = 1 << 20
"""Bytes of a frame that is no answer to a call."""
UNREQUESTED = "the library has written what is not its to write: an answer that was not asked for"


class Ended(Exception):
    """The process has ended; the message says how, and `printed` is the end of what it printed."""

    def __init__(self, message: str, printed: str = "", how: str = "") -> None:
        super().__init__(message)
        self.printed = printed
        self.ending = how or message
        """The exit status or signal, in words."""


class Overdue(Exception):
    """The process has not answered within its time."""


class Rejected(Exception):
    """The process answers with an error. `code` is of the protocol: `host` for a function of the host runtime, which is
    a fault of the device or of the case, and `memory`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Opening:
    """The library and its runtime as paths of the machine that opens them, and the names of the functions.

    `memory_limit` is in bytes, 0 for none; `confinement` has bits of frames.py; `writable` are
    files and folders that a confined process may write to."""

    library: str
    runtime: str
    functions: Sequence[str]
    byte_dtype: int
    memory_limit: int = 0
    confinement: int = CONFINED
    writable: Sequence[str] = ()
    names_files: bool = True
    """False if the executor has other names than paths for what it opens."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of a call: numbers from `first` on, `evicted` bytes that are moved through the caches when they are made,
    and the data in which they differ."""

    first: int
    count: int
    evicted: int = 0
    rotations: Sequence[Rotation] = ()


class Executor:
    """A process with the library. `state` has the state of each function; `in_force` names what confines it."""

    def __init__(self, command: Sequence[str], opening_: Opening, limit: float, environment: Mapping[str, str]) -> None:
        """Starts the process and opens the library. Raises `Ended`, `Overdue` or `Rejected` where that fails, and
        `Failure` where the command cannot be started."""
        self.errors: Any = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self.process = _started(command, {**os.environ, **environment}, self.errors)
        assert self.process.stdin is not None and self.process.stdout is not None
        self._requests, self._answers = self.process.stdin.fileno(), self.process.stdout.fileno()
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                fcntl.fcntl(pipe, _F_SETPIPE_SZ, _PIPE)
        os.set_blocking(self._requests, False)
        self._ready = select.poll()
        self._ready.register(self._answers, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(self._requests, select.POLLOUT)
        try:
            payload = opening(
                opening_.functions,
                memory_limit=opening_.memory_limit,
                byte_dtype=opening_.byte_dtype,
                confinement=opening_.confinement,
                writable=opening_.writable,
                runtime=opening_.runtime,
                library=opening_.library,
            )
            self._send(OPEN, [payload], limit)
            hello = Fields(self._receive(HELLO, limit))
            (protocol,) = hello.unpack("<I")
            if protocol != PROTOCOL:
                raise Rejected("protocol", f"the executor speaks version {protocol} of the protocol, not {PROTOCOL}")
            self.machine = hello.text()
            self.in_force = tuple(hello.texts())
            opened = Fields(self._receive(OPENED, limit))
            self.vendor, self.version = opened.text(), opened.text()
            self.has_device = bool(opened.unpack("<B")[0])
            self.state = {name: int(opened.unpack("<B")[0]) for name in opening_.functions}
        except BaseException:
            self.kill()
            raise
        self._numbers = {name: number for number, name in enumerate(opening_.functions)}
        self._own = (opening_.library, opening_.runtime)
        self._names_files = opening_.names_files
        self._called: set[str] = set()
        self.serving: dict[str, list[str]] = {}
        """Other libraries in the process, and the functions of the interface that they define."""

    def call(self, function: str, frame: Frame, arguments: Sequence[Argument], limit: float) -> Answer:
        """Makes a call. Raises `Ended`, `Overdue`, `Rejected`, and `FrameError` for what is no answer to it."""
        self._expect_nothing()
        self._send(CALL, frame.encoded(self._numbers[function], arguments), limit)
        answer = self._answer(frame, limit)
        if function not in self._called:
            self._called.add(function)
            self.look_around()
        return answer

    def prepare(self, function: str, frame: Frame, arguments: Sequence[Argument], copies: Copies, limit: float) -> None:
        """Lets the process make copies of a call, to be run and read."""
        self._expect_nothing()
        head = copies_field(copies.first, copies.count, copies.evicted, copies.rotations)
        self._send(PREPARE, [head, *frame.encoded(self._numbers[function], arguments)], limit)
        self._receive(DONE, limit)

    def run(self, count: int, limit: float) -> tuple[int, int]:
        """Makes the next calls of the copies, and returns the status of the first that failed and of their work."""
        self._expect_nothing()
        self._send(RUN, [struct.pack("<I", count)], limit)
        status, late = Fields(self._receive(DONE, limit)).unpack("<ii")
        return int(status), int(late)

    def read(self, index: int, frame: Frame, limit: float) -> Answer:
        """The answer of one of the copies."""
        self._expect_nothing()
        self._send(READ, [struct.pack("<I", index)], limit)
        return self._answer(frame, limit)

    def close(self, limit: float) -> str:
        """Leaves the library, and describes the error of that; empty if there is none."""
        try:
            self.look_around()
            if self._has_data():
                return UNREQUESTED
            self._send(CLOSE, [], limit)
            return Fields(self._receive(CLOSED, limit)).text()
        except Overdue:
            return f"the library is not left within {limit:g} s: finalizeLibrary hangs"
        except Ended as error:
            return f"{error} while the library was left"
        except (Rejected, FrameError) as error:
            return str(error)

    @property
    def is_alive(self) -> bool:
        """Returns whether the process runs."""
        return self.process.poll() is None

    @property
    def printed_bytes(self) -> int:
        """The number of bytes that the process has printed."""
        return os.fstat(self.errors.fileno()).st_size

    def printed(self, start: int = 0) -> str:
        """The end of what the process has printed since `start`."""
        self.errors.seek(max(start, self.printed_bytes - _LONGEST_TEXT))
        text = self.errors.read(_LONGEST_TEXT).decode(errors="replace")
        return "\n".join(
            "".join(one if one.isprintable() else " " for one in line) for line in text.splitlines()
        ).strip()

    def kill(self) -> None:
        """Ends the process at once, with all that it started."""
        if self.is_alive:
            self.process.terminate()  # it removes its folder for temporary files
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def look_around(self) -> None:
        """Notes the other libraries that are in the process now."""
        if self._names_files:
            self.serving.update(serving_libraries(self.process.pid, self._numbers, self._own))

    def _expect_nothing(self) -> None:
        """Raises `Ended` if there is an answer before a request."""
        if self._ready.poll(0) and self.process.poll() is None and self._has_data():
            self.kill()
            raise Ended(UNREQUESTED)

    def _has_data(self) -> bool:
        return any(event & select.POLLIN for _, event in self._ready.poll(0))

    def _send(self, kind: int, parts: Sequence[Any], limit: float) -> None:
        views = [memoryview(part).cast("B") for part in parts if len(part)]
        total = sum(view.nbytes for view in views)
        data = b"".join([HEADER.pack(kind, 0, total), *views]) if total < _CHUNK else None
        last = time.monotonic() + limit
        try:
            for view in [memoryview(data)] if data is not None else [memoryview(HEADER.pack(kind, 0, total)), *views]:
                self._write(view, last)
        except BrokenPipeError:
            pass  # reading says how it has ended

    def _write(self, view: memoryview, last: float) -> None:
        while view.nbytes:
            try:
                view = view[os.write(self._requests, view[:_CHUNK]) :]
            except BlockingIOError:
                if not self._writable.poll(max(0.0, last - time.monotonic()) * 1000):
                    raise Overdue from None

    def _receive(self, expected: int, limit: float) -> bytearray:
        """The payload of the next frame, of the kind that is expected."""
        last = time.monotonic() + limit
        return self._read(self._expected(expected, _LONGEST_FRAME, last), last)

    def _answer(self, frame: Frame, limit: float) -> Answer:
        """The answer to a call. One in which blocks repeat is not in memory as a whole."""
        last = time.monotonic() + limit
        count = self._expected(ANSWER, frame.longest_answer, last)
        if frame.repeats:
            return frame.decoded(StreamedFields(count, lambda part: self._read(part, last)))
        return frame.decoded(Fields(self._read(count, last)))

    def _expected(self, kind: int, longest: int, last: float) -> int:
        """Reads the header of the next frame, of the kind that is expected and of at most `longest` bytes; returns
        their number."""
        actual, _, count = HEADER.unpack(self._read(HEADER.size, last))
        if actual not in (kind, ERROR) or count > longest:
            raise FrameError(UNREQUESTED)
        if actual == ERROR:
            fields = Fields(self._read(count, last))
            code = fields.text()
            raise Rejected(code, fields.text())
        return int(count)

    def _read(self, count: int, last: float) -> bytearray:
        data = bytearray()
        while len(data) < count:
            if not self._ready.poll(max(0.0, last - time.monotonic()) * 1000):
                raise Overdue
            piece = os.read(self._answers, min(count - len(data), _CHUNK))
            if not piece:
                raise self._ended()
            data += piece
        return data

    def _ended(self) -> Ended:
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.kill()
            return Ended("the process has closed the stream of answers", self.printed())
        return Ended(f"the process ended with {ending(code)}", self.printed(), ending(code))


def ending(code: int) -> str:
    """The words for an exit status."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _started(command: Sequence[str], environment: Mapping[str, str], errors: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=dict(environment),
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for the suite, which ends this process
        )
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"the command '{command[0]}' cannot be started: {reason}"
        raise failure("launcher-missing", message, fix="install it, or give its whole path") from None


def executor_program() -> Path:
    """The executor for this machine, compiled once and cached. Raises `Failure` where it cannot be compiled."""
    folder = package_data("runtime") / "executor"
    own = sorted(folder.iterdir())
    headers = (package_data("runtime") / "include", package_data("generated") / "include")
    included = (headers[0] / "diopigen/host.h", headers[1] / "diopi/diopirt.h")
    # One unit, not optimized: who waits for it waits for the compiler, and the executor computes nothing.
    unit = "".join(f'#include "{path.name}"\n' for path in own if path.suffix == ".cpp")
    return compiled(
        Recipe(
            name="diopi-executor",
            code="runtime-build",
            product="the executor",
            reason="the process that loads the library",
            written={"executor.cpp": unit.encode()},
            sources=(),
            includes=(folder, *headers),
            flags=("-std=c++17", "-O0"),
            link=("-ldl",),
            inputs=(*own, *included),
            is_program=True,
        )
    )
