"""Creating communicators of droplet: in any order, by ranks that exist, and without a file that remains."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from artefacts import artefact

PROGRAM = """
import ctypes, os, sys

class Id(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char * 128)]

runtime, library = (ctypes.CDLL(path, mode=mode) for path, mode in zip(sys.argv[1:3], (os.RTLD_GLOBAL, os.RTLD_LOCAL)))
library.initLibrary()
library.diopiGetLastErrorString.restype = ctypes.c_char_p
for line in sys.stdin:
    word, *rest = line.split()
    status, answer = 0, ""
    if word == "id":
        unique = Id()
        status = library.diopiGetUniqueId(ctypes.byref(unique))
        answer = ctypes.string_at(ctypes.byref(unique), 128).rstrip(b"\\0").decode()
    elif word == "make":
        comm = ctypes.c_void_p()
        unique = Id(rest[0].encode())
        status = library.diopiCommInitRank(ctypes.byref(comm), int(rest[1]), ctypes.byref(unique), int(rest[2]))
    elif word == "destroy":
        status = library.diopiCommDestroy(comm)
    elif word == "error":
        failure = ctypes.c_int()
        status = library.diopiGetCommAsyncError(comm, ctypes.byref(failure)) or failure.value
    print(library.diopiGetLastErrorString().decode().strip() if status else answer or "done", flush=True)
"""


class Rank:
    """A process that makes communicators when it is told to."""

    def __init__(self, folder: Path) -> None:
        library = artefact("droplet/injected/libdiopi_impl.so")
        words = [sys.executable, "-c", PROGRAM, str(artefact("libdiopirt.so")), str(library)]
        environment = {**os.environ, "DIOPI_SIM_FABRIC_TIMEOUT": "60000"}
        self.process = subprocess.Popen(
            words, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def ask(self, *words: object) -> str:
        """The answer to a line: the text of an id or of an error, or `done`."""
        self.tell(*words)
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def wait_until_mapped(self) -> None:
        """Until the memory of a communicator is there, whether or not the call that makes it has returned."""
        while "diopi-" not in Path(f"/proc/{self.process.pid}/maps").read_text():
            time.sleep(0.01)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def rank(tmp_path: Path) -> Iterator[Callable[[], Rank]]:
    started: list[Rank] = []

    def start() -> Rank:
        started.append(Rank(tmp_path))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def shared_files() -> set[str]:
    """Files of communicators in shared memory; other tests have files of other names."""
    return {path.name for path in Path("/dev/shm").iterdir() if "diopi" in path.name}


def test_ranks_that_are_killed_before_all_have_come_leave_no_file(rank: Callable[[], Rank]) -> None:
    before = shared_files()
    first, second = rank(), rank()
    unique = first.ask("id")
    for number, each in enumerate((first, second)):
        each.tell("make", unique, 3, number)  # the third one never comes
    for each in (first, second):
        each.wait_until_mapped()
    for each in (first, second):
        each.kill()
    assert shared_files() == before


def test_communicators_are_created_in_any_order_without_waiting(rank: Callable[[], Rank]) -> None:
    """Each of three ranks makes that with the next one first, in which the other is last."""
    ranks = [rank() for _ in range(3)]
    ids = [each.ask("id") for each in ranks]
    for number, each in enumerate(ranks):
        assert each.ask("make", ids[number], 2, 0) == "done"
    for number, each in enumerate(ranks):
        assert each.ask("make", ids[number - 1], 2, 1) == "done"
        assert each.ask("error") == "done"


def test_a_rank_that_comes_after_the_maker_of_the_id_has_ended_is_told(rank: Callable[[], Rank]) -> None:
    first, second = rank(), rank()
    unique = first.ask("id")
    process = first.process.pid
    first.ask("make", unique, 2, 0)
    first.kill()
    assert f"the process that made its id, {process}, has ended" in second.ask("make", unique, 2, 1)


def test_a_rank_may_come_after_another_has_destroyed_the_communicator(rank: Callable[[], Rank]) -> None:
    first, second = rank(), rank()
    unique = first.ask("id")
    first.ask("make", unique, 2, 0)
    assert first.ask("destroy") == "done"
    assert second.ask("make", unique, 2, 1) == "done"
    assert second.ask("error") == "done"


def test_ranks_that_do_not_agree_are_told(rank: Callable[[], Rank]) -> None:
    first, second, third = rank(), rank(), rank()
    unique = first.ask("id")
    assert first.ask("make", unique, 2, 0) == "done"
    assert "rank 0 is there already" in second.ask("make", unique, 2, 0)
    assert "rank 1 says that there are 3 ranks, others that there are 2" in third.ask("make", unique, 3, 1)
    assert "rank 1 says that there are 3 ranks" in first.ask("error")


@pytest.mark.parametrize("unique", ["diopi", "diopi-0123456789abcdef0123456789abcdef", "diopi-" + "0" * 32 + "-1-x"])
def test_an_id_that_is_none_is_rejected(unique: str, rank: Callable[[], Rank]) -> None:
    assert "'uniqueId' is none that diopiGetUniqueId made" in rank().ask("make", unique, 2, 0)
