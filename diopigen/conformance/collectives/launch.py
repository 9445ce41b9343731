"""Starts a process for each rank and leads them through the cases. Nothing waits without an end."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from diopigen.conformance.collectives.model import CollectiveCase, CollectiveResult, RankOutcome, groups
from diopigen.conformance.collectives.worker import RankSetup
from diopigen.conformance.run.worker import send
from diopigen.diagnostics import failure

Progress = Callable[[CollectiveResult], None]
_START = 120.0
"""Seconds that a rank may take to load Python and the library."""
_SAME = frozenset({"diopiAllReduce"})
"""Functions whose result is the same on all ranks, bit for bit."""


class RankEnded(Exception):
    """A rank ended, or did not answer in time."""


class Ranks:
    """The processes of one run of the library, and what they answer."""

    def __init__(self, setups: Sequence[RankSetup], limit: float) -> None:
        self.limit = limit
        self.errors = [tempfile.TemporaryFile() for _ in setups]  # noqa: SIM115  (closed with the processes)
        root = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join(entry for entry in (root, os.environ.get("PYTHONPATH", "")) if entry)
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
        command = [sys.executable, "-m", "diopigen.conformance.collectives.worker"]
        self.processes = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment, bufsize=0
            )
            for errors in self.errors
        ]
        self.buffers = [b"" for _ in setups]
        try:
            for rank, setup in enumerate(setups):
                send(self._stdin(rank), setup)
            self.vendor = str(self._answers(range(len(setups)), _START)[0].get("vendor", ""))
            names = groups(len(setups))
            ids = dict(zip(names, self.ask(("ids", len(names)), ranks=[0])[0], strict=True))
            self.ask(("connect", ids), limit=_START)
        except BaseException:
            self.close()
            raise

    def _stdin(self, rank: int) -> IO[bytes]:
        found = self.processes[rank].stdin
        assert found is not None
        return found

    def ask(self, message: tuple[str, Any], *, ranks: Sequence[int] | None = None, limit: float = 0) -> list[Any]:
        """Responses of the ranks to a message. Raises `RankEnded`."""
        asked = range(len(self.processes)) if ranks is None else ranks
        for rank in asked:
            try:
                send(self._stdin(rank), message)
            except OSError:
                raise RankEnded(self._ending(rank)) from None
        return [answer["result"] for answer in self._answers(asked, limit or self.limit)]

    def ask_survivors(self, case: CollectiveCase) -> list[Any]:
        """Responses of all ranks but the last one, which ends."""
        for rank in range(len(self.processes)):
            with contextlib.suppress(OSError):
                send(self._stdin(rank), ("run", case))
        return [answer["result"] for answer in self._answers(range(len(self.processes) - 1), self.limit)]

    def _answers(self, ranks: Sequence[int], limit: float) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        end = time.monotonic() + limit
        with selectors.DefaultSelector() as selector:
            for rank in ranks:
                stdout = self.processes[rank].stdout
                assert stdout is not None
                selector.register(stdout, selectors.EVENT_READ, rank)
            while len(found) < len(ranks):
                left = end - time.monotonic()
                events = selector.select(left) if left > 0 else []
                if not events:
                    late = ", ".join(str(rank) for rank in ranks if rank not in found)
                    raise RankEnded(f"rank {late} did not answer within {limit:g} s")
                for key, _ in events:
                    rank = key.data
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        raise RankEnded(self._ending(rank))
                    self.buffers[rank] += data
                    line, newline, rest = self.buffers[rank].partition(b"\n")
                    if newline:
                        self.buffers[rank] = rest
                        found[rank] = json.loads(line)
                        selector.unregister(key.fileobj)
                        if "fatal" in found[rank]:
                            raise RankEnded(f"rank {rank}: {found[rank]['fatal']}")
        return [found[rank] for rank in ranks]

    def _ending(self, rank: int) -> str:
        """Exit of the process of a rank, with the last line that it printed."""
        status = self.processes[rank].wait(timeout=5)
        self.errors[rank].seek(0)
        lines = self.errors[rank].read().decode(errors="replace").strip().splitlines()
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"the process of rank {rank} ended with {how}{': ' + lines[-1] if lines else ''}"

    def close(self) -> None:
        """Ends all processes."""
        for process in self.processes:
            process.kill()
        for process, errors in zip(self.processes, self.errors, strict=True):
            process.wait()
            for pipe in (process.stdin, process.stdout, errors):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def run(
    setups: Sequence[RankSetup],
    cases: Sequence[CollectiveCase],
    ending: Sequence[CollectiveCase],
    limit: float,
    progress: Progress,
) -> list[CollectiveResult]:
    """The results of all cases. After one that ends a rank or takes longer than `limit` seconds new processes go on;
    each case of `ending` has its own."""
    results: list[CollectiveResult] = []

    def add(result: CollectiveResult) -> None:
        results.append(result)
        progress(result)

    ranks: Ranks | None = None
    try:
        for case in cases:
            ranks = ranks or _started(setups, limit)
            try:
                outcomes = [RankOutcome(**answer) for answer in ranks.ask(("run", case))]
            except RankEnded as ended:
                add(CollectiveResult(case, "failed", str(ended)))
                ranks.close()
                ranks = None
                continue
            result = _result(case, outcomes)
            add(result)
            if result.status == "failed":  # a communicator that failed is of no further use
                ranks.close()
                ranks = None
        for case in ending if len(setups) > 1 else ():
            if ranks is not None:
                ranks.close()
            ranks = _started(setups, limit)
            try:
                add(_result(case, [RankOutcome(**answer) for answer in ranks.ask_survivors(case)]))
            except RankEnded as ended:
                add(CollectiveResult(case, "failed", str(ended)))
    finally:
        if ranks is not None:
            ranks.close()
    return results


def _started(setups: Sequence[RankSetup], limit: float) -> Ranks:
    try:
        return Ranks(setups, limit)
    except RankEnded as ended:
        fix = "correct what makes communicators: diopiGetUniqueId, diopiCommInitRank"
        raise failure("library-init", f"the ranks cannot be started: {ended}", fix=fix) from None


def _result(case: CollectiveCase, outcomes: Sequence[RankOutcome]) -> CollectiveResult:
    for rank, outcome in enumerate(outcomes):
        if outcome.problem:
            return CollectiveResult(case, "failed", f"rank {rank}: {outcome.problem}")
    skipped = next((outcome.skipped for outcome in outcomes if outcome.skipped), "")
    if skipped:
        return CollectiveResult(case, "skipped", skipped)
    if case.function in _SAME and case.group == "world" and not case.wrong:
        digests = {outcome.digest for outcome in outcomes}
        if len(digests) > 1:
            return CollectiveResult(case, "failed", "ranks have results that differ bit for bit")
    return CollectiveResult(case, "passed")
