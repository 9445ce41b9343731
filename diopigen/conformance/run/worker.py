"""A process that checks cases. It has an executor of its own, which loads the library: a crash or a hang there costs
one case, and nothing that the library does reaches the checker.

It reads pickled work from its standard input and writes one line of JSON per case to its standard output.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import signal
import struct
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO

from diopigen.chip.accuracy import Declaration
from diopigen.conformance.compare.describe import describe
from diopigen.conformance.model import Case, CaseResult, Fault
from diopigen.conformance.oracles import oracles
from diopigen.conformance.run.caller import Caller
from diopigen.conformance.run.execute import Checker
from diopigen.conformance.run.execution import DEFAULT, Execution
from diopigen.conformance.run.executor import Ended, Executor, Opening, Overdue, Rejected, executor_program
from diopigen.conformance.run.fields import FrameError
from diopigen.conformance.run.named_files import named_files
from diopigen.conformance.run.opaque import be_opaque
from diopigen.conformance.run.repeat import check_repeated
from diopigen.diagnostics import Failure, failure
from diopigen.ir.model import Interface

_START_LIMIT = 120.0
"""Seconds that an executor may take to load the library; more where a case may take long, as in an emulator."""
_START_CASES = 6
"""As many times the limit of a case an executor may take to load the library."""
_SHOWN = 60
"""Lines of what a library prints while it is left: the first ones, as reports of leaks begin with what matters."""


@dataclass(frozen=True, slots=True)
class Setup:
    """State of a worker before its first case. `time_limit` is in seconds, for a call and for leaving the library;
    `memory_limit` in bytes, 0 for none; `environment` is added to that of the executor; with `stays` the executor goes
    on after an overrun, which is then known to have done no harm.

    `acts` names a file of counters that a library with an injected fault keeps: a call in which none of them moves is
    that of the true library, which has been tested before. `device` names the vendor whose memory tensors must be in,
    so that a run on the host is not taken for one on a device; empty for whatever the library registers."""

    interface: Interface
    library: str
    runtime: str
    seed: int
    time_limit: float
    memory_limit: int
    environment: Mapping[str, str] = field(default_factory=dict)
    stays: bool = False
    acts: str = ""
    device: str = ""
    accuracy: tuple[Declaration, ...] = ()
    """Declared accuracy of the chip."""
    caller: Caller | None = None
    """Calls the library in another way than through its C functions."""
    repeat: int = 1
    """Number of runs of each case; its outputs must have the same bytes each time."""
    digests: bool = False
    """True if results have digests of their outputs."""
    execution: Execution = DEFAULT
    shows_all: bool = False
    """True if what a crashed process printed is shown whole."""


def send(pipe: IO[bytes], message: Any) -> None:
    """Writes a message: eight bytes of length, then the pickle."""
    data = pickle.dumps(message, protocol=5)
    pipe.write(struct.pack("<Q", len(data)))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next message, or None at the end."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    return pickle.loads(pipe.read(struct.unpack("<Q", head)[0]))


def _line(pipe: BinaryIO, message: Mapping[str, Any]) -> None:
    pipe.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    pipe.flush()


def result_line(index: int, result: CaseResult) -> dict[str, Any]:
    """A result as JSON."""
    line: dict[str, Any] = {"case": index, "outcome": result.outcome, "seconds": round(result.seconds, 6)}
    if result.faults:
        names = ("kind", "parameter", "message", "expected", "actual")
        line["faults"] = [{name: getattr(fault, name) for name in names} for fault in result.faults]
        line["operands"] = list(result.operands)
    if result.reason:
        line["reason"] = result.reason
    if result.digest:
        line["digest"] = result.digest
    if result.declared:
        line["declared"] = list(result.declared)
    if result.errors:
        line["errors"] = [astuple(one) for one in result.errors]
    return line


class Bench:
    """The checker of a worker, and the executor that it has now."""

    def __init__(self, setup: Setup) -> None:
        """Opens the library. Raises `Failure` where that fails."""
        self.setup = setup
        settings: dict[str, Any] = {
            "seed": setup.seed,
            "limit": setup.time_limit,
            "counters": Path(setup.acts) if setup.acts else None,
            "accuracy": setup.accuracy,
            "observes": setup.digests or setup.repeat > 1,
        }
        caller, interface = setup.caller, setup.interface
        self.checker = Checker(interface, **settings) if caller is None else caller.checker(interface, **settings)
        self._crashes: Counter[str] = Counter()
        self._executor: Executor | None = None
        self.serving: dict[str, list[str]] = {}
        """Other libraries that were in the process, and the functions of the interface that they define."""
        self.executor()

    def executor(self) -> Executor:
        """The process with the library, started anew where there is none. Raises `Failure` where it does not load."""
        if self._executor is None:
            self._executor = self._opened()
        return self._executor

    @property
    def _writable(self) -> tuple[str, ...]:
        named = named_files(self.setup.interface, {**os.environ, **self.setup.environment})
        return (*self.setup.execution.writable, *named)

    def _command(self) -> list[str]:
        setup, execution = self.setup, self.setup.execution
        if execution.executor:
            return [*execution.launcher, *execution.executor]
        if setup.caller is not None:
            writable = (word for path in self._writable for word in ("--writable", path))
            allowed = (word for one in sorted({*execution.allowed, "home"} - {"programs"}) for word in ("--allow", one))
            limits = ["--confine", *writable, *allowed, "--"]
            confining = [str(executor_program()), *limits] if execution.is_confined else []
            return [*execution.launcher, *confining, *setup.caller.command(setup.interface)]
        return [*execution.launcher, str(executor_program())]

    def _opened(self) -> Executor:
        setup, caller = self.setup, self.setup.caller
        limit = max(_START_LIMIT, _START_CASES * setup.time_limit)
        what = Opening(
            setup.library,
            setup.runtime,
            [one.name for one in setup.interface.functions] if caller is None else caller.called(setup.interface),
            self.checker.preparer.dtypes["uint8"],
            setup.memory_limit,
            setup.execution.confinement,
            self._writable,
            names_files=caller is None or caller.names_files,
        )
        fix = "run the library's initialisation by itself; the text is the end of what it printed"
        try:
            found = Executor(self._command(), what, limit, setup.environment)
        except Ended as error:
            text = f"the library under test ended its process ({error.ending}) {tail(error.printed)}"
            raise failure("library-init", text, fix=fix) from None
        except Overdue:
            text = f"the library under test does not load within {limit:.0f} s"
            raise failure("library-init", text, fix="look at initLibrary") from None
        except (Rejected, FrameError) as error:
            raise _refusal(error, setup) from None
        where = "device memory" if found.has_device else "no device memory"
        if setup.device and (found.vendor != setup.device or not found.has_device):
            found.kill()
            text = f"the library is of '{found.vendor}' and has {where}, but the run is for '{setup.device}'"
            raise failure("library-device", text, fix="name the library's own vendor, or leave it out")
        return found

    def result(self, case: Case) -> CaseResult:
        """The result of a case. Raises `Failure` where the library does not load again after a crash."""
        if self._crashes[case.called] >= self.setup.execution.crash_limit:
            return _crash(case, f"not called: {case.function} has crashed {self.setup.execution.crash_limit} times")
        executor = self.executor()
        try:
            result = check_repeated(self.checker, executor, case, self.setup.repeat)
        except Overdue:
            self.give_up()
            limit = self.setup.time_limit
            fault = Fault("hang", "", f"the call has not returned within {limit:g} s")
            return CaseResult(case, "hung", limit, (fault,), describe(case))
        except (Ended, Rejected, FrameError, MemoryError) as error:
            self.give_up()
            self._crashes[case.called] += 1
            return _crash(case, _words(error, shows_all=self.setup.shows_all))
        if not self.setup.stays and any(fault.kind == "guard" for fault in result.faults):
            self.give_up()  # memory was overrun: what runs there next could fail without being at fault
        return result

    @property
    def is_running(self) -> bool:
        """Returns whether the process that made the last call is there to make the next one."""
        return self._executor is not None and self._executor.is_alive

    def kill(self) -> None:
        """Ends the process at once."""
        if self._executor is not None:
            self._executor.kill()
            self._executor = None

    def end(self) -> tuple[str, str]:
        """Leaves the library: what is wrong with that, empty if nothing is, and what it printed meanwhile."""
        executor = self._executor
        if executor is None:
            return "", ""
        before = executor.printed_bytes
        is_alive = executor.is_alive
        wrong = executor.close(self.setup.time_limit)
        self.serving.update(executor.serving)
        if not is_alive:
            wrong = wrong.replace("while the library was left", "while no case ran")
            before = 0
        executor.kill()
        lines = executor.printed(before).splitlines() if wrong else []
        more = [f"... and {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else []
        return wrong, "\n".join([*(line.rstrip() for line in lines[:_SHOWN]), *more])

    def give_up(self) -> None:
        """Ends the executor; the next call starts another one."""
        if self._executor is not None:
            self._executor.look_around()
            self.serving.update(self._executor.serving)
            self.kill()


def _refusal(error: Exception, setup: Setup) -> Failure:
    text, code = str(error), getattr(error, "code", "protocol")
    if code == "library-unloadable":
        what = "the host runtime" if setup.runtime in text else "the library under test"
        path = setup.runtime if setup.runtime in text else setup.library
        fix = "look for undefined symbols and missing libraries with ldd"
        return failure(code, f"{what} '{path}' does not load: {text}", fix=fix)
    fixes = {
        "runtime-incomplete": "build the host runtime of this version of diopigen",
        "protocol": "build the executor of this version of diopigen",
    }
    # A library that is loaded can have written the answer: it chooses no other code.
    shown = code if code == "runtime-incomplete" else "library-init"
    origin = "" if code == shown else "the executor reports: "
    return failure(shown, f"{origin}{text}", fix=fixes.get(code, "fix the library's initialisation"))


def _words(error: Exception, *, shows_all: bool) -> str:
    if isinstance(error, MemoryError):
        return "memory is exhausted"
    if not isinstance(error, Ended) or not error.printed:
        return str(error)
    if not shows_all:
        return f"{error}: {tail(error.printed)}"
    return f"{error}: " + "".join(f"\n    {line.rstrip()}" for line in error.printed.splitlines())


def tail(text: str) -> str:
    """The end of what a process printed, in one line."""
    return " | ".join(line.strip() for line in text[-2000:].splitlines()[-3:])


def _crash(case: Case, message: str) -> CaseResult:
    return CaseResult(case, "crashed", 0.0, (Fault("crash", "", message),), describe(case))


def serve(commands: BinaryIO, answers: BinaryIO) -> int:
    """Sets up, then checks batches until the input ends."""
    with contextlib.suppress(Exception):  # named with the first case that needs them
        oracles()  # read before the first case
    setup: Setup | None = receive(commands)
    if setup is None:
        return 0  # started ahead of time, and not needed
    try:
        bench = Bench(setup)
        executor = bench.executor()
        _line(answers, {"ready": True, "vendor": executor.vendor, "version": executor.version,
                        "in_force": list(executor.in_force)})  # fmt: skip
        gc.collect()
        gc.freeze()  # else some case pays for a look at all that the suite has loaded
        while True:
            batch: Sequence[tuple[int, Case]] | None = receive(commands)
            if batch is None:
                break
            for index, case in batch:
                _line(answers, result_line(index, _checked(bench, case)))
    except Failure as error:
        found = error.diagnostics[0]
        _line(answers, {"setup": str(error), "code": found.code, "fix": found.fix or ""})
        return 1
    wrong, printed = bench.end()
    _line(answers, {"ended": wrong, "printed": printed, "serving": bench.serving})
    return 0


def _checked(bench: Bench, case: Case) -> CaseResult:
    try:
        return bench.result(case)
    except Failure:
        raise
    except Exception as error:  # a fault of the suite: named, and no reason to lose the other cases
        fault = Fault("failed", "", f"the suite itself failed: {type(error).__name__}: {error}")
        return CaseResult(case, "failed", 0.0, (fault,), describe(case))


def main() -> None:
    """Entry of the process."""
    be_opaque()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group: the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    code = serve(sys.stdin.buffer, answers)
    answers.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
