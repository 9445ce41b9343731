"""A process that runs cases against a library, so that a crash or a hang there is no end of the run.

It reads pickled work from its standard input and writes one line of JSON per case to a pipe of its own. What the
library prints goes to the worker's standard error, of which the parent keeps the end.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import IO, Any, BinaryIO

from diopigen.chip.accuracy import Declaration
from diopigen.conformance.model import Case, CaseResult
from diopigen.conformance.oracles import oracles
from diopigen.conformance.run.binding import Host, HostError, Library, Types
from diopigen.conformance.run.execute import Executor
from diopigen.conformance.run.repeat import run_repeated
from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface

GAVE_UP = 75
"""Exit status of a worker that has reported a case after which its memory is not to be trusted."""


@dataclass(frozen=True, slots=True)
class Setup:
    """State of a worker before its first case. `memory_limit` is in bytes, 0 for none; `environment` is added to that
    of the process; with `stays` the worker goes on after an overrun, which is then known to have done no harm.

    `acts` names a file of counters that a library with an injected fault keeps: a call in which none of them moves is
    that of the true library, which has been tested before. `device` names the vendor whose memory tensors must be in,
    so that a run on the host is not taken for one on a device; empty for whatever the library registers."""

    interface: Interface
    library: Path
    runtime: Path
    seed: int
    memory_limit: int
    environment: Mapping[str, str] = field(default_factory=dict)
    stays: bool = False
    acts: str = ""
    device: str = ""
    accuracy: tuple[Declaration, ...] = ()
    """Declared accuracy of the chip."""
    packed: Path | None = None
    """The library of packed functions through which the library is called; None calls the C functions."""
    repeat: int = 1
    """Number of runs of each case; its outputs must have the same bytes each time."""
    digests: bool = False
    """True if results have digests of their outputs."""


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


def _line(pipe: BinaryIO, message: dict[str, Any]) -> None:
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


def _leave(answers: BinaryIO) -> int:
    """Says that the process ends by itself, which a library that ends it does not."""
    _line(answers, {"leaving": True})
    return GAVE_UP


def _library(setup: Setup, host: Host) -> Library:
    if setup.packed is None:
        return Library(setup.library, Types(setup.interface), setup.interface.functions)
    from diopigen.conformance.run.tvm_ffi_binding import FfiLibrary

    return FfiLibrary(setup.library, setup.interface, host, setup.packed)


def serve(commands: BinaryIO, answers: BinaryIO) -> int:
    """Sets up, then runs batches until the input ends."""
    with contextlib.suppress(Exception):  # named with the first case that needs them
        oracles()  # read before the first case: its time limit is for the library
    setup: Setup | None = receive(commands)
    if setup is None:
        return 0  # started ahead of time, and not needed
    if setup.memory_limit:
        resource.setrlimit(resource.RLIMIT_DATA, (setup.memory_limit, setup.memory_limit))
    try:
        host = Host(setup.runtime)
        library = _library(setup, host)
        counters = Path(setup.acts) if setup.acts else None
        executor = Executor(
            setup.interface, host, library, seed=setup.seed, counters=counters, accuracy=setup.accuracy,
            observes=setup.digests or setup.repeat > 1,
        )  # fmt: skip
    except (Failure, HostError) as error:
        fixes = [found.fix or "" for found in error.diagnostics] if isinstance(error, Failure) else [""]
        codes = [found.code for found in error.diagnostics] if isinstance(error, Failure) else ["library-init"]
        _line(answers, {"setup": str(error), "code": codes[0], "fix": fixes[0]})
        return 1
    vendor, version = library.text("diopiGetVendorName"), library.text("diopiGetImplVersion")
    if setup.device and (vendor != setup.device or executor.arena.device == 0):
        where = "device memory" if executor.arena.device else "no device memory"
        text = f"the library is of '{vendor}' and has {where}, but the run is for '{setup.device}'"
        _line(
            answers, {"setup": text, "code": "library-device", "fix": "name the library's own vendor, or leave it out"}
        )
        return 1
    _line(answers, {"ready": True, "vendor": vendor, "version": version})
    gc.collect()
    gc.freeze()  # else some case pays for a look at all that the suite has loaded, which takes longer than most cases
    while True:
        batch: Sequence[tuple[int, Case]] | None = receive(commands)
        if batch is None:
            break
        for index, case in batch:
            try:
                result = run_repeated(executor, case, setup.repeat)
            except MemoryError:
                _line(answers, {"case": index, "outcome": "crashed", "seconds": 0.0, "text": "memory is exhausted"})
                return _leave(answers)
            except HostError as error:
                _line(answers, {"case": index, "outcome": "crashed", "seconds": 0.0, "text": str(error)})
                return _leave(answers)
            except Exception as error:  # a fault of the suite: named, and no reason to lose the other cases
                text = f"the suite itself failed: {type(error).__name__}: {error}"
                _line(answers, {"case": index, "outcome": "failed", "seconds": 0.0, "text": text})
                continue
            _line(answers, result_line(index, result))
            if not setup.stays and any(fault.kind == "guard" for fault in result.faults):
                return _leave(answers)  # memory was overrun: what runs here next could fail without being at fault
    return _end(executor, library, answers)


def _end(executor: Executor, library: Library, answers: BinaryIO) -> int:
    """Gives back what the suite holds, leaves the library, and says what is wrong with that, or an empty text.

    From here on what is printed is about the end: the parent learns where it begins.
    """
    _flush()
    _line(answers, {"ending": os.fstat(2).st_size})
    try:
        executor.arena.close()
        before = library.text("diopiGetLastErrorString")
        status = library.close()
        wrong = f"finalizeLibrary returns {status}, not 0" if status else ""
        said = library.text("diopiGetLastErrorString") if status else ""
        wrong += f" ({said})" if said and said != before else ""
    except HostError as error:
        wrong = str(error)
    _flush()
    _line(answers, {"ended": wrong})
    return 0


def _flush() -> None:
    """Writes what the C library still keeps of printed text: the process ends without doing so."""
    ctypes.CDLL(None).fflush(None)


def main() -> None:
    """Entry of the process: the pipe for answers is standard output, moved out of the library's way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group: the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    code = serve(sys.stdin.buffer, answers)
    answers.flush()
    os._exit(code)  # no destructors of a library that may be broken


if __name__ == "__main__":
    main()
