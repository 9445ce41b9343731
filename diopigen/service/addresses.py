"""Addresses of a server: a Unix socket of its user, or a port of this machine with a token."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

from diopigen.diagnostics import failure
from diopigen.output.disk import fault

RULES = {
    "address-in-use": "The port of a server is free, and the path of its socket, or a socket that no server uses.",
    "server-unreachable": "A server listens on the socket or port.",
}
HOST = "127.0.0.1"


def listening_socket(path: Path) -> socket.socket:
    """A Unix socket that only its user may connect to. Raises `Failure` where the path is taken."""
    if path.is_symlink() or path.exists():
        if not stat.S_ISSOCK(path.lstat().st_mode) or _listens(path):
            raise failure("address-in-use", f"'{path}' is in use", fix="name another path, or end the other server")
        path.unlink()
    found = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        found.bind(str(path))
    except OSError as error:
        found.close()
        raise fault(error, path, "listen on") from None
    finally:
        os.umask(before)
    found.listen()
    return found


def listening_port(port: int) -> socket.socket:
    """A port of this machine; 0 chooses a free one. Raises `Failure` where it is taken."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except OSError as error:
        found.close()
        raise failure(
            "address-in-use", f"port {port}: {error.strerror}", fix="name another port, or 0 for any"
        ) from None
    found.listen()
    return found


def connected(path: Path | None, port: int) -> socket.socket:
    """A connection to a server. Raises `Failure` where none listens."""
    found = socket.socket(socket.AF_UNIX) if path is not None else socket.socket()
    try:
        found.connect(str(path) if path is not None else (HOST, port))
    except OSError as error:
        found.close()
        where = f"'{path}'" if path is not None else f"port {port}"
        message = f"no server on {where}: {error.strerror or error}"
        raise failure("server-unreachable", message, fix="start one with `diopigen serve`") from None
    return found


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
        probe.connect(str(path))
        return True
    return False
