"""Processes of a request: started from the server as it is, with all that it has read, counted, and ended together."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

from diopigen.conformance.run.opaque import be_opaque
from diopigen.service.protocol import Event, encoded

_PR_SET_PDEATHSIG = 1
_MOST_FILES = 4096
_PAGE = os.sysconf("SC_PAGE_SIZE")


def started(work: Callable[[Callable[[Event], None]], None]) -> tuple[int, int]:
    """A copy of this process, in a group of its own, that does `work` and ends: its number, and the pipe with the lines
    of its events. It has no other file of this process than standard streams."""
    reading, writing = os.pipe()
    gc.collect()
    gc.freeze()  # else each copy would soon have its own copy of all that was read
    pid = os.fork()
    if pid:
        os.close(writing)
        gc.unfreeze()
        return pid, reading
    code = 1
    try:
        os.setpgid(0, 0)
        _be_alone(writing)
        with os.fdopen(writing, "wb") as stream:

            def emit(event: Event) -> None:
                stream.write(encoded(event))
                stream.flush()

            work(emit)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
    raise AssertionError("not reached")


def _be_alone(writing: int) -> None:
    """Leaves sockets, signals and the selector of the server to it, and ends with it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.closerange(3, writing)
    os.closerange(writing + 1, _MOST_FILES)
    be_opaque()


def descendants(pid: int) -> list[int]:
    """A process and all that it has started, directly or not, as far as they run."""
    every, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        every.append(one)
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return every


def memory_of(pids: Iterable[int]) -> int:
    """Bytes of memory of processes, without files."""
    total = 0
    for one in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            resident, shared = Path(f"/proc/{one}/statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE
    return total


def end(pid: int) -> list[int]:
    """Ends a process of `started` with its group; returns the numbers of those that it has started, which end with
    it."""
    others = descendants(pid)[1:]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # it may not have its group yet
    os.waitpid(pid, 0)
    return others
