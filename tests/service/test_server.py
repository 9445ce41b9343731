"""The server: requests in processes of their own, several at once, which end with their clients."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from diopigen.diagnostics import Failure
from diopigen.service.addresses import connected, listening_port, listening_socket
from diopigen.service.client import events as events_of
from diopigen.service.job import run_job
from diopigen.service.limits import Limits
from diopigen.service.processes import descendants
from diopigen.service.protocol import Emit, decoded, encoded
from diopigen.service.request import Request
from diopigen.service.server import Server
from diopigen.service.suite import Suite

# A copy of a process with threads (those of pytest-xdist) runs the thread that copied it alone.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
REQUEST = {"library": "/lib/x.so"}
LIMITS = Limits(jobs=2, queue=1, request_bytes=1000)
VERDICT = {"event": "verdict", "status": "passed"}
Client = Callable[[], Coroutine[Any, Any, None]]


class Connection:
    """A client over a Unix socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, path: Path, document: Any = None) -> Connection:
        found = cls(*await asyncio.open_unix_connection(path))
        if document is not None:
            found.writer.write(encoded(document))
        return found

    async def event(self) -> Any:
        """The next event; None at the end."""
        line = await asyncio.wait_for(self.reader.readline(), 600)
        return decoded(line) if line else None

    async def events(self) -> list[Any]:
        return [event async for event in self]

    def __aiter__(self) -> Connection:
        return self

    async def __anext__(self) -> Any:
        event = await self.event()
        if event is None:
            raise StopAsyncIteration
        return event


def serving(folder: Path, work: Callable[[Request, Path, Emit], None], client: Client, **options: Any) -> None:
    """Runs a client while a server serves on the socket `folder/s`, and ends the server by SIGTERM."""

    async def both() -> None:
        server = asyncio.ensure_future(
            Server(work, options.get("limits", LIMITS), options.get("token", "")).serve(listening_socket(folder / "s"))
        )
        try:
            await asyncio.wait_for(client(), 120)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            await server

    asyncio.run(both())


def passing(_request: Request, _folder: Path, emit: Emit) -> None:
    emit(VERDICT)


async def ends(pid: int) -> None:
    """Waits until a process has ended."""
    descriptor, ended = os.pidfd_open(pid), asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, ended.set)
    await asyncio.wait_for(ended.wait(), 60)
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)


def test_two_requests_run_at_once_and_a_third_waits(tmp_path: Path) -> None:
    """The first one ends only after the second one has begun, and the third begins after one of them has ended."""

    def work(request: Request, _folder: Path, emit: Emit) -> None:
        other = {1: 2, 2: 1}.get(request.seed)
        if other is not None:
            (tmp_path / f"pipe-{request.seed}").open("w").close()  # returns when the other one reads
        emit({**VERDICT, "seed": request.seed})

    async def client() -> None:
        for number in (1, 2):
            os.mkfifo(tmp_path / f"pipe-{number}")
        one, two = [await Connection.to(tmp_path / "s", {**REQUEST, "seed": number}) for number in (1, 2)]
        loop = asyncio.get_running_loop()
        begun = [await loop.run_in_executor(None, (tmp_path / f"pipe-{n}").open) for n in (1, 2)]
        assert [(await one.event())["seed"], (await two.event())["seed"]] == [1, 2]
        for pipe in begun:
            pipe.close()

    serving(tmp_path, work, client)


def test_a_request_beyond_those_that_run_is_queued_and_one_more_is_not_accepted(tmp_path: Path) -> None:
    def work(request: Request, _folder: Path, emit: Emit) -> None:
        emit({"event": "started"})
        if request.seed == 0:
            signal.pause()
        emit(VERDICT)

    async def client() -> None:
        first = await Connection.to(tmp_path / "s", {**REQUEST, "seed": 0})
        assert await first.event() == {"event": "started"}
        second = await Connection.to(tmp_path / "s", {**REQUEST, "seed": 1})
        assert await second.event() == {"event": "queued"}
        third = await Connection.to(tmp_path / "s", REQUEST)
        assert (await third.event())["code"] == "server-busy"
        first.writer.close()
        assert [event["event"] for event in await second.events()] == ["started", "verdict"]

    serving(tmp_path, work, client, limits=Limits(jobs=1, queue=1))


def test_the_work_of_a_client_that_closes_its_connection_ends(tmp_path: Path) -> None:
    """With a process that it has started in a session of its own, and with its folder."""

    def work(_request: Request, folder: Path, emit: Emit) -> None:
        import subprocess

        program = subprocess.Popen(["sleep", "1000"])
        emit({"event": "started", "pids": [os.getpid(), program.pid], "folder": str(folder)})
        signal.pause()

    async def client() -> None:
        connection = await Connection.to(tmp_path / "s", REQUEST)
        started = await connection.event()
        assert set(started["pids"]) <= set(descendants(os.getpid()))
        assert Path(started["folder"]).is_dir()
        waiting = [asyncio.ensure_future(ends(pid)) for pid in started["pids"]]
        await asyncio.sleep(0)
        connection.writer.close()
        await asyncio.gather(*waiting)

    serving(tmp_path, work, client)


def test_a_library_that_hangs_ends_with_the_client(
    suite: Suite, tiny_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executor is in a session and in namespaces of its own, with a call that never returns."""
    monkeypatch.setenv("TINY_FAULT", "hang")

    others = set(descendants(os.getpid()))  # executors of other tests may wait for their next call

    async def client() -> None:
        request = {"library": str(tiny_library), "ops": ["diopiAdd"], "stages": ["exports", "whole"]}
        connection = await Connection.to(tmp_path / "s", request)
        assert [(await connection.event())["event"] for _ in range(2)] == ["started", "stage"]
        processes = set(descendants(os.getpid())) - others
        executors = {pid for pid in processes if "diopi-executor" in Path(f"/proc/{pid}/cmdline").read_text()}
        assert executors
        waiting = [asyncio.ensure_future(ends(pid)) for pid in processes]
        await asyncio.sleep(0)
        connection.writer.close()
        await asyncio.gather(*waiting)

    serving(tmp_path, lambda *request: run_job(suite, LIMITS, *request), client)


def test_the_end_of_the_server_is_that_of_its_requests_and_folders(tmp_path: Path) -> None:
    started: dict[str, Any] = {}

    def work(_request: Request, folder: Path, emit: Emit) -> None:
        (folder / "file").touch()
        emit({"event": "started", "pid": os.getpid(), "folder": str(folder)})
        signal.pause()

    async def client() -> None:
        connection = await Connection.to(tmp_path / "s", REQUEST)
        started.update(await connection.event())

    serving(tmp_path, work, client)
    assert not Path(started["folder"]).exists()
    with pytest.raises(ProcessLookupError):
        os.kill(started["pid"], 0)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"GET / HTTP/1.1\r\n", "request-not-json"),
        (b'{"library": "/x", "token": "wrong"}\n', "token-rejected"),
        (b'{"library": "/x"}\n', "token-rejected"),
        (b'{"library": "/x", "token": ["right"]}\n', "token-rejected"),
        (b'{"token": "right"}\n', "request-invalid"),
        (b'{"library": "/%s"}\n' % (b"x" * 5000), "request-too-large"),
        (b'{"library": "/x", "token": "right"}\n', ""),
    ],
)
def test_a_request_that_is_not_served_is_told_why(line: bytes, code: str, tmp_path: Path) -> None:
    async def client() -> None:
        connection = await Connection.to(tmp_path / "s")
        connection.writer.write(line)
        (event,) = await connection.events()
        assert event.get("code", "") == code
        assert event["event"] == ("error" if code else "verdict")

    serving(tmp_path, passing, client, token="right")


def test_a_request_that_does_not_arrive_does_not_wait_for_ever(tmp_path: Path) -> None:
    async def client() -> None:
        connection = await Connection.to(tmp_path / "s")
        connection.writer.write(b'{"library"')
        assert [event["code"] for event in await connection.events()] == ["request-late"]

    serving(tmp_path, passing, client, limits=Limits(request_seconds=0.01))


def test_more_memory_than_allowed_ends_a_request(tmp_path: Path) -> None:
    def work(_request: Request, _folder: Path, _emit: Emit) -> None:
        filled = bytearray(b"1") * (200 << 20)
        signal.pause()
        assert filled

    async def client() -> None:
        connection = await Connection.to(tmp_path / "s", {**REQUEST, "limits": {"memory": 0.1}})
        assert [event["code"] for event in await connection.events()] == ["memory-exceeded"]

    serving(tmp_path, work, client)


def test_a_process_that_ends_without_a_verdict_is_an_error(tmp_path: Path) -> None:
    async def client() -> None:
        connection = await Connection.to(tmp_path / "s", REQUEST)
        assert [event["code"] for event in await connection.events()] == ["request-failed"]

    serving(tmp_path, lambda *_: os._exit(3), client)


def test_a_socket_is_for_its_user_and_replaces_one_that_is_left_over(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with listening_socket(path):
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(Failure, match="in use"):
            listening_socket(path)
    listening_socket(path).close()
    (tmp_path / "file").touch()
    with pytest.raises(Failure, match="in use"):
        listening_socket(tmp_path / "file")
    assert (tmp_path / "file").exists()
    with pytest.raises(Failure, match="cannot listen"):
        listening_socket(tmp_path / ("x" * 200))


def test_a_port_is_of_this_machine_alone() -> None:
    with listening_port(0) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(Failure, match=str(port)):
            listening_port(port)
        connected(None, port).close()
    with pytest.raises(Failure, match="no server"):
        connected(None, port)


def test_a_connection_that_is_lost_is_an_event() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(encoded({"event": "started"}))
    theirs.shutdown(socket.SHUT_WR)
    assert [event["event"] for event in events_of(ours, REQUEST)] == ["started", "error"]
    theirs.close()
