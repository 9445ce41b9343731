"""The build stage: sources in a new folder, and a confined command that makes a library of them."""

from __future__ import annotations

import os
import resource
import selectors
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen.conformance.run.executor import ending
from diopigen.package import package_data
from diopigen.service.request import Sources

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Built:
    """The outcome of a build: the library, or None with what is wrong; and the begin and end of what was printed."""

    library: Path | None
    wrong: str
    output: str


def build(sources: Sources, folder: Path, confine: Sequence[str], *, seconds: float, memory: int, output: int) -> Built:
    """Writes the sources to `folder` and runs their command there. `confine` are the words in front of a command that
    may write to a folder only: the folder's path and `--` follow. Of the printed text `output` bytes stay."""
    for name, content in sources.files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        except OSError as error:  # a file that another one needs as its folder, a name that is too long
            return Built(None, f"'{name}' cannot be written: {error.strerror}", "")
    status, printed = _run([*confine, str(folder), "--", "sh", "-c", sources.build], folder, seconds, memory, output)
    if status:
        return Built(None, status, printed)
    library = folder / sources.product
    try:
        if not library.resolve(strict=True).is_relative_to(folder.resolve()) or not library.is_file():
            return Built(None, f"'{sources.product}' is not a file of the build", printed)
    except (OSError, RuntimeError):
        return Built(None, f"the build writes no '{sources.product}'", printed)
    return Built(library, "", printed)


def _run(command: Sequence[str], folder: Path, seconds: float, memory: int, output: int) -> tuple[str, str]:
    """Runs a command: the error, empty if there is none, and the printed text."""
    include = os.pathsep.join(str(package_data(name) / "include") for name in ("generated", "runtime"))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_FSIZE, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
        env={**os.environ, "CPATH": include}, preexec_fn=limited,
    )  # fmt: skip
    assert process.stdout is not None
    last, first_bytes, last_bytes, dropped = time.monotonic() + seconds, b"", b"", 0
    with selectors.DefaultSelector() as selector, process.stdout as stream:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            left = last - time.monotonic()
            if left <= 0 or not selector.select(left):
                _end(process)
                return f"the build has not ended within {seconds:g} s", _joined(first_bytes, last_bytes, dropped)
            piece = os.read(stream.fileno(), _CHUNK)
            if not piece:
                break
            fits = output // 2 - len(first_bytes)
            first_bytes += piece[:fits]
            last_bytes += piece[fits:]
            dropped += max(0, len(last_bytes) - output // 2)
            last_bytes = last_bytes[-(output // 2) :]
        try:
            status = process.wait(max(0.0, last - time.monotonic()))
        except subprocess.TimeoutExpired:
            _end(process)
            return f"the build has not ended within {seconds:g} s", _joined(first_bytes, last_bytes, dropped)
    wrong = "" if status == 0 else f"the build ends with {ending(status)}"
    return wrong, _joined(first_bytes, last_bytes, dropped)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the command with all that it started, which its process of namespaces passes on."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _joined(first: bytes, last: bytes, dropped: int) -> str:
    cut = f"\n... {dropped} bytes left out ...\n".encode() if dropped else b""
    return (first + cut + last).decode(errors="replace")
