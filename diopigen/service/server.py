"""The server: one request on a connection, several at once, each in a process that ends with its client."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from diopigen.service.limits import Limits
from diopigen.service.processes import descendants, end, memory_of, started
from diopigen.service.protocol import Emit, RequestError, decoded, encoded
from diopigen.service.request import Request, parsed

_GRACE = 5.0
"""Seconds after the time of a request in which it may report what it has."""
_LOOK = 0.25
"""Seconds between two looks at the memory of a request."""
_Value = TypeVar("_Value")
_Error = TypeVar("_Error", bound=Exception)
Work = Callable[[Request, Path, Emit], None]
"""Serves a request with a folder for its files."""


class Gone(Exception):
    """The client has closed its connection."""


class Server:
    """Serves requests by `work`. Without a `token` every connection is served."""

    def __init__(self, work: Work, limits: Limits, token: str = "") -> None:
        self.work, self.limits, self.token = work, limits, token
        self._running = asyncio.Semaphore(limits.jobs)
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, listener: socket.socket) -> None:
        """Serves until the process is asked to end (SIGTERM, SIGINT)."""
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        start = asyncio.start_unix_server if listener.family == socket.AF_UNIX else asyncio.start_server
        server = await start(self._connected, sock=listener, limit=self.limits.request_bytes)
        await stop.wait()
        server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except (Gone, ConnectionError, asyncio.CancelledError):
            pass
        except RequestError as error:
            with contextlib.suppress(ConnectionError):
                writer.write(encoded(error.event))
                await writer.drain()
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) > self.limits.jobs + self.limits.queue:
            message = f"{self.limits.jobs} requests run and {self.limits.queue} wait"
            raise RequestError("server-busy", message, fix="try again later")
        request = self._request(await self._line(reader))
        gone = asyncio.ensure_future(_gone(reader))
        try:
            if self._running.locked():
                writer.write(encoded({"event": "queued"}))
            await _unless(gone, self._running.acquire())
            try:
                await self._run(request, writer, gone)
            finally:
                self._running.release()
        finally:
            gone.cancel()

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        try:
            line = await asyncio.wait_for(reader.readline(), self.limits.request_seconds)
        except ValueError:
            message = f"a request has at most {self.limits.request_bytes} bytes"
            raise RequestError("request-too-large", message, fix="send fewer or smaller sources") from None
        except asyncio.TimeoutError:
            message = f"no whole request within {self.limits.request_seconds:g} s"
            raise RequestError("request-late", message, fix="end the request with a newline") from None
        if not line:
            raise Gone
        return line

    def _request(self, line: bytes) -> Request:
        document = decoded(line)
        token = document.get("token") if isinstance(document, dict) else None
        if self.token and not (isinstance(token, str) and hmac.compare_digest(token.encode(), self.token.encode())):
            raise RequestError(
                "token-rejected", "the token is missing or wrong", "token", "see the server's token file"
            )
        return parsed(document, self.limits)

    async def _run(self, request: Request, writer: asyncio.StreamWriter, gone: asyncio.Future[Gone]) -> None:
        """Runs a request in a process of its own and passes its events on."""
        folder = Path(tempfile.mkdtemp(prefix="diopi-serve-"))
        others: list[int] = []
        try:
            pid, pipe = started(partial(_work, self.work, request, folder))
            try:
                await self._pass_on(request, pid, pipe, writer, gone)
            finally:
                others = end(pid)
        finally:
            try:
                await _ended(others)
            finally:  # also where the server ends meanwhile
                shutil.rmtree(folder, ignore_errors=True)

    async def _pass_on(
        self, request: Request, pid: int, pipe: int, writer: asyncio.StreamWriter, gone: asyncio.Future[Gone]
    ) -> None:
        events = asyncio.StreamReader(limit=1 << 24)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(events), os.fdopen(pipe, "rb", buffering=0)
        )
        exceeded = asyncio.ensure_future(_exceeded(pid, request))
        last = b""
        try:
            while line := await _unless(gone, _unless(exceeded, events.readline())):
                writer.write(line)
                await writer.drain()
                last = line
            if not last.startswith(b'{"event":"verdict"'):
                raise RequestError("request-failed", "the process of the request has ended", fix="see the server's log")
        finally:
            exceeded.cancel()
            transport.close()


def _work(work: Work, request: Request, folder: Path, emit: Emit) -> None:
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)  # what is left behind there goes with the folder
    work(request, folder, emit)


async def _unless(stop: asyncio.Future[_Error], work: Awaitable[_Value]) -> _Value:
    """The result of `work`. Raises the error of `stop` as soon as there is one."""
    task = asyncio.ensure_future(work)
    try:
        waiting: set[asyncio.Future[Any]] = {stop, task}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise stop.result()
        return task.result()
    finally:
        task.cancel()


async def _gone(reader: asyncio.StreamReader) -> Gone:
    """Returns as soon as the client closes its connection, or sends more than a request."""
    await reader.read(1)
    return Gone()


async def _exceeded(pid: int, request: Request) -> RequestError:
    """Returns as soon as a request uses more time or memory than it may."""
    loop = asyncio.get_running_loop()
    last = loop.time() + request.time_limit + _GRACE
    own = memory_of([os.getpid()])  # which the process of a request begins with, and shares
    while loop.time() < last:
        if memory_of(descendants(pid)) - own > request.memory_limit:
            message = f"the request uses more than {request.memory_limit >> 20} MiB"
            return RequestError("memory-exceeded", message, "limits.memory")
        await asyncio.sleep(_LOOK)
    return RequestError("time-exceeded", f"the request takes longer than {request.time_limit:g} s", "limits.time")


async def _ended(pids: list[int]) -> None:
    """Waits for the end of processes whose parent has ended, and ends those that stay."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            continue
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(descriptor, ended.set)
        try:
            await asyncio.wait_for(ended.wait(), _GRACE)
        except asyncio.TimeoutError:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
