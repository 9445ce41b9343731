"""A process that has read torch and forks for each executor: a crash then costs the time of a fork, and not that of
reading torch. For the CPU alone: drivers of other devices do not survive a fork.

The server ends with the process that has started it, whose end closes its standard input.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

_CLIENT = Path(__file__).with_name("program") / "fork_client.py"
_servers: dict[tuple[str, ...], str] = {}


def forking(command: Sequence[str]) -> list[str]:
    """The words that start an executor by a fork of a server, which `command` with `--fork SOCKET` starts once."""
    key = tuple(command)
    if key not in _servers:
        folder = tempfile.TemporaryDirectory(prefix="diopigen-")
        path = str(Path(folder.name) / "fork")
        server = subprocess.Popen([*command, "--fork", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdout is not None
        server.stdout.readline()  # once it listens
        atexit.register(folder.cleanup)
        atexit.register(server.kill)
        _servers[key] = path
    return [sys.executable, "-S", "-E", str(_CLIENT), _servers[key]]


def serve_forks(path: str, run: Callable[[], int]) -> None:
    """Forks for each connection, until the standard input ends; `run` is what the new process does. A connection whose
    client has ended, or sends nothing more, ends its process."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        os.write(1, b"\n")
        clients: dict[int, socket.socket] = {}  # by the process of each
        ends, signalled = os.pipe()
        os.set_blocking(signalled, False)
        _wake_by_children(signalled)
        while True:
            readable, _, _ = select.select([listening, sys.stdin, ends, *clients.values()], [], [])
            if sys.stdin in readable:
                return
            for child in [child for child, connection in clients.items() if connection in readable]:
                os.kill(child, signal.SIGKILL)
                _report(clients.pop(child), os.waitpid(child, 0)[1])
            if ends in readable:
                os.read(ends, 1 << 10)
                for child in list(clients):
                    ended, status = os.waitpid(child, os.WNOHANG)
                    if ended:
                        _report(clients.pop(child), status)
            if listening in readable:
                connection, _ = listening.accept()
                _, streams, _, _ = socket.recv_fds(connection, 1, 3)
                if not streams:  # the client has ended meanwhile
                    connection.close()
                    continue
                clients[_forked(streams, [connection, listening, *clients.values()], run)] = connection


def _wake_by_children(pipe: int) -> None:
    signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)


def _report(client: socket.socket, status: int) -> None:
    """Tells a client how its process has ended."""
    with client, contextlib.suppress(BrokenPipeError):
        client.sendall(struct.pack("<i", status))


def _forked(streams: Sequence[int], others: Sequence[socket.socket], run: Callable[[], int]) -> int:
    """A copy of this process with other standard streams and without the sockets of this one: its number."""
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        for one in others:
            one.close()
        code = 1
        try:
            code = run()
        finally:
            os._exit(code)
    for stream in streams:
        os.close(stream)
    return child
