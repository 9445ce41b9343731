"""Runs the command `conformance run` over cheats, each in folders of its own, and looks for what they achieved."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from diopigen.conformance.model import PASSING
from diopigen.package import package_root
from lab.cheats.build import LIBRARY_NAME, Workshop
from lab.cheats.model import Cheat, Trial, cheats

Progress = Callable[[int, int, Trial], None]
"""Called after each cheat with the number done, the number of all, and its outcome."""

_SELECTION = (
    "--ops",
    "diopiRelu",
    "--ops",
    "diopiSoftmax",
    "--ops",
    "diopiLogicalNot",
    "--dtype",
    "float32",
    "-j",
    "1",
)
_FEW = ("--only", "sample=3")
"""Cases of a cheat that is never right."""
_OWN = ("home", "cache", "tmp", "current")
"""Folders of a run that it must leave unchanged: the user's, and the current one."""
_ELSEWHERE = ("/tmp", "/dev", "/dev/shm")
_SIGN = "diopi-cheat-*"
"""Files that cheats leave outside of their folders."""
_DEPTH = 5
"""Folders within folders that are looked at: those of a user's cache and home are not deeper."""
_MEMORY = 2 << 20
"""KiB that a process of a run may take: all limits of memory here are below."""
_GRACE = 0.5
"""Seconds that processes may take to end after the run."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_FORGED = re.compile(r"^\s*forged", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command: its status, None if it did not end, the KiB of its largest process, what it printed, and
    its results by case."""

    status: int | None
    memory: int
    output: str
    results: Mapping[str, str]
    report: str

    @property
    def passing(self) -> frozenset[str]:
        return frozenset(case for case, outcome in self.results.items() if outcome in PASSING)


class Campaign:
    """Cheats below a folder."""

    def __init__(self, folder: Path, runtime: Path, *, jobs: int = 1) -> None:
        self.folder, self.runtime, self.jobs = folder.resolve(), runtime.resolve(), jobs
        self.workshop = Workshop(self.folder)
        self.wrong = self.folder / "shared/wrong"
        """Folder of a library that computes nothing, with the cache that a first run fills."""
        self._prepare(cheats(["control_wrong"])[0], self.wrong)
        self.by_chance = self._run(self.wrong / LIBRARY_NAME, self.wrong, ()).passing
        """The cases that it passes."""

    def run(self, selected: Sequence[Cheat], progress: Progress | None = None) -> list[Trial]:
        """Outcome of each cheat."""
        trials: list[Trial] = []
        with ThreadPoolExecutor(self.jobs) as pool:
            for trial in pool.map(self.attempt, selected):
                trials.append(trial)
                if progress is not None:
                    progress(len(trials), len(selected), trial)
        return trials

    def attempt(self, cheat: Cheat) -> Trial:
        """Builds a cheat, runs it, and looks for what it achieved. Ends what it left behind."""
        folder = self.folder / cheat.name
        self._prepare(cheat, folder)
        shutil.copytree(self.wrong / "cache", folder / "cache", dirs_exist_ok=True)
        agent = socket.socket(socket.AF_UNIX)
        with suppress(OSError):  # a path that is too long for a socket
            agent.bind(str(folder / "home/agent"))
            agent.listen()
        before = self._state(folder)
        started = time.monotonic()
        run = self._run(folder / LIBRARY_NAME, folder, _options(cheat), cheat.seconds)
        if cheat.again:
            run = self._run(folder / LIBRARY_NAME, folder, _options(cheat), cheat.seconds)
        seconds = time.monotonic() - started
        gains = [*self._gains_of(cheat, run), *_left_behind(folder)]
        if (changed := _changes(before, self._state(folder))) and not cheat.accepted:
            gains.append(f"changed {', '.join(changed[:3])}")
        if run.report and _text(folder / "report.json") != run.report:
            gains.append("the report was changed after the run")
        if (
            not cheat.accepted
            and self._run(self.wrong / LIBRARY_NAME, folder, _FEW, name="next").passing - self.by_chance
        ):
            gains.append("the next run accepts another library")
        agent.close()
        _clear(folder)
        named = not cheat.named or re.search(cheat.named, run.output) is not None
        return Trial(cheat, run.status, _verdict(run), tuple(gains), named, seconds)

    def _prepare(self, cheat: Cheat, folder: Path) -> None:
        _removed(folder)
        for name in _OWN:
            (folder / name).mkdir(parents=True)
        (folder / "home/secret").write_text("secret\n")
        if cheat.rehearsal:
            recorder = self.workshop.build(cheat, folder, cheat.rehearsal)
            self._run(recorder, folder, ("--executor", f"writable={folder}"))
            for report in folder.glob("report.*"):
                report.unlink()
        self.workshop.build(cheat, folder)

    def _run(
        self, library: Path, folder: Path, options: Sequence[str], seconds: float = 60, name: str = "report"
    ) -> Run:
        reports = {form: folder / f"{name}.{form}" for form in ("json", "junit", "html", "output")}
        for path in reports.values():
            path.unlink(missing_ok=True)
        outputs = [word for form, path in reports.items() for word in ("--output", f"{form}={path}")][:-2]
        command = [sys.executable, "-m", "diopigen", "conformance", "run", "--lib", str(library)]
        command += ["--runtime", str(self.runtime), *_SELECTION, *options, *outputs]
        with reports["output"].open("wb") as output:
            process = subprocess.Popen(
                command, cwd=folder / "current", env=_environment(folder), stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip
        status, memory = _ended(process.pid, seconds, folder)
        process.returncode = status or 0  # it was waited for
        report = _text(reports["json"])
        return Run(status, memory, _text(reports["output"]), _results(report), report)

    def _gains_of(self, cheat: Cheat, run: Run) -> Iterator[str]:
        if run.status is None:
            yield f"the run did not end within {cheat.seconds:g} s"
        elif run.status < 0:
            yield f"the run was ended by {signal.Signals(-run.status).name}"
        elif run.status == 0:
            yield "exit status 0"
        elif "Traceback (most recent call last)" in run.output:
            yield "the run ended with a traceback"
        elif run.status not in (1, 2):
            yield f"exit status {run.status}"
        elif not run.results and "error" not in run.output:
            yield "the run ended without a verdict"
        if run.memory > _MEMORY:
            yield f"a process of the run took {run.memory >> 10} MiB"
        unearned = run.passing - self.by_chance
        if unearned and not cheat.sometimes_right:
            yield f"{len(unearned)} wrong results passed"
        if cheat.sometimes_right and not (cheat.named and run.status and re.search(cheat.named, run.output)):
            yield from (f"{function} passed" for function in _passing_functions(run.results))
        if cheat.accepted:
            return
        if _CONTROL.search(run.output):
            yield "control characters were printed"
        if _FORGED.search(run.output):
            yield "a forged line was printed"
        yield from _broken_reports(self.folder / cheat.name, run)

    def _state(self, folder: Path) -> dict[str, str]:
        """A digest of each file that a run must not change, and the folders between them."""
        paths = [path for name in _OWN for path in _below(folder / name, _DEPTH)]
        paths += [folder / LIBRARY_NAME, self.workshop.reference]
        paths += [path for elsewhere in _ELSEWHERE for path in Path(elsewhere).glob(_SIGN)]
        return {
            str(path).removeprefix(f"{folder}/"): blake2b(path.read_bytes()).hexdigest() if path.is_file() else ""
            for path in paths
        }


def _below(folder: Path, depth: int) -> Iterator[Path]:
    for path in folder.iterdir():
        yield path
        if depth and path.is_dir() and not path.is_symlink():
            yield from _below(path, depth - 1)


def _options(cheat: Cheat) -> Sequence[str]:
    return cheat.options or (() if cheat.sometimes_right else _FEW)


def _environment(folder: Path) -> dict[str, str]:
    own = {"HOME": "home", "TMPDIR": "tmp", "DIOPIGEN_CACHE": "cache"}
    path = os.pathsep.join(entry for entry in (str(package_root()), os.environ.get("PYTHONPATH", "")) if entry)
    return {**os.environ, **{name: str(folder / value) for name, value in own.items()}, "PYTHONPATH": path}


def _results(report: str) -> dict[str, str]:
    with suppress(ValueError, KeyError, TypeError):
        record = json.loads(report, parse_constant=_rejected)
        return {str(case["id"]): str(case["outcome"]) for case in record["cases"]}
    return {}


def _rejected(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _passing_functions(results: Mapping[str, str]) -> Iterator[str]:
    outcomes: dict[str, list[str]] = defaultdict(list)
    for case, outcome in results.items():
        if outcome != "inapplicable":
            outcomes[case.split("/")[0]].append(outcome)
    yield from (function for function, those in outcomes.items() if PASSING.issuperset(those))


def _broken_reports(folder: Path, run: Run) -> Iterator[str]:
    """Reports that are not well-formed, or whose markup is the library's."""
    if run.report and not run.results:
        yield "the JSON report is malformed"
    junit, page = folder / "report.junit", folder / "report.html"
    if junit.is_file():
        try:
            if any(str(case.get("name")) == "forged" for case in ElementTree.parse(junit).iter("testcase")):
                yield "a forged case is in the JUnit report"
        except ElementTree.ParseError:
            yield "the JUnit report is malformed"
    if page.is_file() and "<script>forged" in page.read_text(errors="replace"):
        yield "the page has a script of the library"


def _verdict(run: Run) -> str:
    counts = Counter(run.results.values())
    if counts:
        return ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    lines = [line.strip() for line in run.output.splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith("error")), lines[-1] if lines else "nothing printed")
    return _CONTROL.sub("?", first)[:100]


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _left_behind(folder: Path) -> Iterator[str]:
    """Processes of a run that go on after it; they are ended once they had the time to change the report."""
    last = time.monotonic() + _GRACE
    while (left := list(_processes(folder))) and time.monotonic() < last:
        time.sleep(0.05)
    if left:
        time.sleep(3 * _GRACE)
        yield f"{len(left)} processes were left behind"
    for process in left:
        _kill(process)


def _processes(folder: Path) -> Iterator[int]:
    """The processes whose environment or memory has the folder of a cheat."""
    own = os.fsencode(folder) + b"/"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if b"HOME=" + own in (entry / "environ").read_bytes() or own in (entry / "maps").read_bytes():
                    yield int(entry.name)


def _ended(process: int, seconds: float, folder: Path) -> tuple[int | None, int]:
    """Waits for a run: its status, None if it was ended here after so many seconds, and the KiB of its largest
    process."""
    last = time.monotonic() + seconds
    while True:
        ended, status, usage = os.wait4(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss
        if time.monotonic() > last:
            break
        time.sleep(0.02)
    for own in _processes(folder):
        _kill(own)
    return None, os.wait4(process, 0)[2].ru_maxrss


def _removed(folder: Path) -> None:
    """Removes a folder however deep it is."""
    subprocess.run(["rm", "-rf", str(folder)], check=False, capture_output=True)


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""


def _clear(folder: Path) -> None:
    """Removes what takes memory: reports and the library are for reading."""
    for name in _OWN:
        _removed(folder / name)
    for elsewhere in _ELSEWHERE:
        for path in Path(elsewhere).glob(_SIGN):
            path.unlink()


def record(trial: Trial) -> dict[str, Any]:
    """A trial for JSON."""
    cheat = trial.cheat
    return {
        "name": cheat.name, "kind": cheat.kind, "tries": cheat.tries, "ended_by": cheat.ended_by,
        "status": trial.status, "verdict": trial.verdict, "accepted": bool(trial.gains), "gains": list(trial.gains),
        "named": trial.named, "good": trial.good, "seconds": round(trial.seconds, 3),
    }  # fmt: skip
