"""Cases that reach the location of each fault: every case runs once without any fault."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from diopigen.conformance.model import Case
from diopigen.conformance.run.runner import CaseRunner
from diopigen.ir.model import Interface
from lab.mutation.sources.board import Board

Progress = Callable[[int, int], None]
_SOUND = ("passed", "uncovered")


@dataclass(slots=True)
class Reach:
    """The places, by number, that each case evaluates, of the cases that pass; `unsound` names the others that were
    tested."""

    of: dict[str, list[int]] = field(default_factory=dict)
    unsound: list[str] = field(default_factory=list)

    def by_fault(self, cases: Iterable[Case]) -> dict[int, list[Case]]:
        """The cases that reach each fault, in their order."""
        found: dict[int, list[Case]] = {}
        for case in cases:
            for number in self.of.get(case.id, ()):
                found.setdefault(number, []).append(case)
        return found


def state_of(case: Case) -> str:
    """A digest over all that a case says."""
    return hashlib.blake2b(repr(case).encode(), digest_size=12).hexdigest()


def measure(
    cases: Sequence[Case],
    interface: Interface,
    library: Path,
    runtime: Path,
    count: int,
    cache: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Reach:
    """Runs the cases over a library with `count` faults of which none acts. What `cache` has from before is not run
    again; it must be of the same library."""
    known = _read(cache)
    states = {case.id: state_of(case) for case in cases}
    left = [case for case in cases if states[case.id] not in known]
    done = len(cases) - len(left)
    with cache.open("a", encoding="utf-8") as out:

        def part(batch: Sequence[Case]) -> None:
            nonlocal done
            with Board(count) as board:
                runner = CaseRunner(batch, interface, library, runtime, environment=board.environment)
                try:
                    for case in batch:
                        board.reached()
                        outcome = runner.check(case).outcome
                        record: dict[str, object] = {
                            "state": states[case.id],
                            "outcome": outcome,
                            "reached": board.reached(),
                        }
                        known[states[case.id]] = record
                        out.write(json.dumps(record, separators=(",", ":")) + "\n")
                        done += 1
                        if progress is not None:
                            progress(done, len(cases))
                finally:
                    runner.close()

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(part, [left[start::jobs] for start in range(jobs) if left[start::jobs]]))
    reach = Reach()
    for case in cases:
        record = known[states[case.id]]
        if record["outcome"] in _SOUND:
            numbers = record["reached"]
            assert isinstance(numbers, list)
            reach.of[case.id] = numbers
        elif record["outcome"] not in ("unimplemented", "inapplicable"):
            reach.unsound.append(case.id)
    return reach


def _read(cache: Path) -> dict[str, dict[str, object]]:
    """Results of an earlier run; a truncated last line is ignored."""
    known: dict[str, dict[str, object]] = {}
    if cache.is_file():
        for line in cache.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
                known[record["state"]] = record
            except (ValueError, KeyError):
                continue
    return known


def hash_of_file(path: Path) -> str:
    """A digest over a file."""
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
