"""A rank: a process that makes communicators and runs its side of each case.

It reads messages from its standard input and writes one line of JSON for each to a pipe of its own; what the library
prints goes to its standard error, of which the parent keeps the end.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from diopigen.conformance.collectives.call import Caller, Communicator
from diopigen.conformance.collectives.model import CollectiveCase, RankOutcome, groups
from diopigen.conformance.run.binding import Host, HostError, Library, Types
from diopigen.conformance.run.memory import Arena
from diopigen.conformance.run.worker import receive
from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface

_MISSING = ("diopiNoImplement", "diopiDtypeNotSupported")
_PAUSE = 0.005
"""Seconds between two questions for an asynchronous error."""


@dataclass(frozen=True, slots=True)
class RankSetup:
    """State of a rank before its first case."""

    interface: Interface
    library: Path
    runtime: Path
    seed: int
    rank: int
    nranks: int
    patience: float
    """Seconds within which ranks see that another one has ended."""


class Rank:
    """A library that is loaded in this process, and its communicators by group."""

    def __init__(self, setup: RankSetup) -> None:
        self.setup = setup
        interface = setup.interface
        self.types = Types(interface)
        self.host = Host(setup.runtime)
        functions = [f for f in interface.functions if f.is_collective]
        self.library = Library(setup.library, self.types, functions)
        dtypes = {info.name: self._enum(info.enum) for info in interface.dtypes}
        self.callers = [
            Caller(interface, self.host, self.library, (Arena(self.host, dtypes), Arena(self.host, dtypes)), setup.seed)
            for _ in range(2)
        ]
        self.comms: dict[str, Communicator] = {}
        self.missing = [f.name for f in functions if f.name not in self.library.functions]

    def _enum(self, name: str) -> int:
        return next(v.value for enum in self.setup.interface.enums for v in enum.values if v.name == name)

    def _status(self, status: int) -> str:
        enum = self.setup.interface.enum("diopiError_t")
        assert enum is not None
        return next((value.name for value in enum.values if value.value == status), str(status))

    def _failed(self, function: str, status: int) -> str:
        text = self.library.text("diopiGetLastErrorString")
        return f"{function} returns {self._status(status)}{': ' + text if text else ''}"

    def unique_ids(self, count: int) -> list[str]:
        """Ids for so many communicators, as hexadecimal digits."""
        found = []
        for _ in range(count):
            id_type = self.types.named["diopiUniqueId_t"]
            unique = id_type()
            status = self.library.functions["diopiGetUniqueId"](ctypes.byref(unique))
            if status:
                raise RuntimeError(self._failed("diopiGetUniqueId", status))
            found.append(bytes(unique).hex())
        return found

    def connect(self, ids: dict[str, str]) -> None:
        """Makes the communicators of the groups that this rank is in, in the order of the groups."""
        for name, members in groups(self.setup.nranks).items():
            if self.setup.rank not in members:
                continue
            unique = self.types.named["diopiUniqueId_t"].from_buffer_copy(bytes.fromhex(ids[name]))
            handle, rank = ctypes.c_void_p(), members.index(self.setup.rank)
            status = self.library.functions["diopiCommInitRank"](
                ctypes.byref(handle), len(members), ctypes.byref(unique), rank
            )
            if status:
                raise RuntimeError(self._failed("diopiCommInitRank", status))
            text = ctypes.c_char_p()
            status = self.library.functions["diopiGetCommName"](handle, ctypes.byref(text))
            if status or not text.value:
                raise RuntimeError(self._failed("diopiGetCommName", status))
            self.comms[name] = Communicator(handle, text.value.decode(), rank, len(members))

    def disconnect(self) -> str:
        """Destroys the communicators; what went wrong."""
        problems = []
        for comm in self.comms.values():
            status = self.library.functions["diopiCommDestroy"](comm.handle)
            problems += [self._failed("diopiCommDestroy", status)] if status else []
        self.comms.clear()
        return problems[0] if problems else ""

    def run(self, case: CollectiveCase) -> RankOutcome:
        """This rank's side of a case."""
        try:
            return self._run(case)
        except (HostError, RuntimeError, KeyError) as error:
            return RankOutcome(problem=f"{type(error).__name__}: {error}")
        finally:
            for caller in self.callers:
                caller.clear()

    def _run(self, case: CollectiveCase) -> RankOutcome:
        needed = {case.function} | ({"diopiRecv"} if case.function == "diopiSend" else set())
        missing = [name for name in self.missing if name in needed]
        if missing:
            return RankOutcome(skipped=f"the library has no {missing[0]}")
        if case.axis == "ended":
            return self._survive(case)
        work = [(self.callers[0], name) for name in (case.group,) if name in self.comms]
        work += [(self.callers[1], name) for name in (case.second,) if name in self.comms]
        if self.setup.rank % 2:  # communicators are ordered by nothing but their streams
            work.reverse()
        pending = []
        for caller, name in work:
            for repeat in range(case.repeats):
                for call in caller.issue(case, self.comms[name], repeat):
                    if call.status != 0 or case.wrong:
                        return self._rejected(case, call.status)
                    pending.append((caller, call))
        for caller in dict.fromkeys(caller for caller, _ in work):
            caller.synchronize()
        received = hashlib.sha256()
        for caller, call in pending:
            problem, data = caller.check(call)
            if problem:
                return RankOutcome(problem=problem)
            received.update(data)
        return self._without_error(case, RankOutcome(digest=received.hexdigest()))

    def _rejected(self, case: CollectiveCase, status: int) -> RankOutcome:
        found = self._status(status)
        if not case.wrong:
            text = self._failed(case.function, status)
            return RankOutcome(skipped=text) if found in _MISSING else RankOutcome(problem=text)
        if found == case.error:
            return self._without_error(case, RankOutcome())
        return RankOutcome(problem=f"returns {found}, expected {case.error}: {case.breaks} is broken")

    def _without_error(self, case: CollectiveCase, outcome: RankOutcome) -> RankOutcome:
        for name in (case.group, case.second):
            if name in self.comms and (text := self._async_error(self.comms[name])):
                return RankOutcome(problem=f"the communicator has failed: {text}")
        return outcome

    def _async_error(self, comm: Communicator) -> str:
        error = ctypes.c_int()
        status = self.library.functions["diopiGetCommAsyncError"](comm.handle, ctypes.byref(error))
        if status:
            raise RuntimeError(self._failed("diopiGetCommAsyncError", status))
        return self._failed("GetCommAsyncError", error.value) if error.value else ""

    def _survive(self, case: CollectiveCase) -> RankOutcome:
        """The last rank ends; the others see a failure in time and can destroy the communicator."""
        comm = self.comms["world"]
        if self.setup.rank == self.setup.nranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        start = time.monotonic()
        caller = self.callers[0]
        calls = caller.issue(case, comm)
        # Which calls do not need the rank that ended is the library's to say: a root that sends may be done.
        while not calls[-1].status and not self._async_error(comm):
            if time.monotonic() - start > self.setup.patience:
                return RankOutcome(problem=f"no failure within {self.setup.patience:g} s of the end of a rank")
            if case.root == self.setup.rank:
                try:
                    calls += caller.issue(case, comm)
                except HostError:  # the stream has failed
                    continue
            time.sleep(_PAUSE)
        problem = self.disconnect()
        # What was queued fails now, and does not wait for anybody.
        self.host.status("diopiHostSynchronize", caller.arena.context)
        return RankOutcome(problem=problem)


def _serve(messages: BinaryIO, answers: BinaryIO) -> None:
    setup: RankSetup = receive(messages)
    rank = Rank(setup)
    actions: dict[str, Callable[[Any], Any]] = {"ids": rank.unique_ids, "connect": rank.connect, "run": rank.run}

    def answer(value: Any) -> None:
        answers.write(json.dumps(value).encode() + b"\n")
        answers.flush()

    answer({"ready": True, "vendor": rank.library.text("diopiGetVendorName")})
    while (message := receive(messages)) is not None:
        name, argument = message
        result = actions[name](argument)
        answer({"result": asdict(result) if isinstance(result, RankOutcome) else result})
    rank.disconnect()
    sys.stderr.flush()
    os._exit(0)  # what the library leaves behind at exit is the other suite's to check


def main() -> None:
    """Serves the parent until its end of the pipe is closed."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        _serve(sys.stdin.buffer, answers)
    except (Failure, HostError, RuntimeError) as error:
        answers.write(json.dumps({"fatal": str(error)}).encode() + b"\n")
        answers.flush()
        os._exit(1)


if __name__ == "__main__":
    main()
