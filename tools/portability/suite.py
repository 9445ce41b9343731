"""Runs one configuration and says what came of it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import aarch64
import builds
import pythons
import vectors
from builds import ROOT, WORK, Broken, Libraries, Skipped
from configurations import BUILDS, SETTINGS, Build, Configuration

FAILURES = ("failed", "crashed", "hung", "nondeterministic")

HERE = Path(__file__).parent
_VARIABLE = "DIOPI_CPU_CAPABILITY"
_ONE_LEVEL = b"in this build, which has one instruction set"
"""Message of a library about the variable (impl/cpu/src/capability.cpp) that has no levels to select."""


@dataclass(frozen=True, slots=True)
class Row:
    """Result of a configuration. `ran` says what was in effect; `skipped` and `broken` why there are no cases;
    `failures` names the cases that failed."""

    title: str
    ran: str = ""
    cases: int = 0
    passed: int = 0
    other: int = 0
    """Cases that are neither passed nor failed: operators that the library does not have."""
    failures: tuple[str, ...] = ()
    seconds: float = 0.0
    skipped: str = ""
    broken: str = ""

    @property
    def good(self) -> bool:
        """Returns whether nothing is wrong with it; what is skipped is not."""
        return not (self.failures or self.broken)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run: `sample` cases of each function, None for all of them."""

    jobs: int
    sample: int | None = None
    libraries: Libraries | None = None
    """Run over these instead of the configurations' own builds."""


def run(configuration: Configuration, limits: Limits) -> Row:
    """Builds what the configuration needs, then runs its cases or tests."""
    started = time.monotonic()
    try:
        row = _run(configuration, limits)
    except Skipped as error:
        row = Row(configuration.title, skipped=str(error))
    except Broken as error:
        row = Row(configuration.title, broken=str(error))
    return replace(row, seconds=row.seconds or time.monotonic() - started)


def lacking_flags(configuration: Configuration) -> str:
    """Requirements of the configuration that the processor does not meet."""
    return " ".join(flag for flag in configuration.flags if flag not in processor()[1])


def processor() -> tuple[str, frozenset[str]]:
    """Its name and its features, as Linux tells them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "unknown processor", frozenset()
    fields = dict(re.findall(r"^(.*?)\s*: ?(.*)$", text.split("\n\n", 1)[0], re.MULTILINE))
    numbers = f"family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"
    return f"{fields.get('model name', 'unknown processor')} ({numbers})", frozenset(fields.get("flags", "").split())


def _run(configuration: Configuration, limits: Limits) -> Row:
    lacking = lacking_flags(configuration)
    if lacking:
        raise Skipped(f"this processor has no {lacking}")
    launcher = shlex.split(configuration.emulated)
    if launcher and shutil.which(launcher[0]) is None:
        raise Skipped(f"{launcher[0]} is not installed (qemu-user)")
    if configuration.aarch64:
        return _aarch64(configuration, limits)
    python = Path(sys.executable)
    if configuration.python:
        python = pythons.environment(configuration.python, configuration.numpy)
    environment = _environment(configuration)
    effect = _probed(configuration, [*launcher, str(python)], environment)
    if configuration.tests:
        return _tests(configuration, python, environment, effect)
    return _suite(configuration, limits, python, environment, effect)


def _environment(configuration: Configuration) -> dict[str, str]:
    """That of this process, with the configuration's own settings alone: one that a user has, such as an OpenBLAS core
    that the emulated processor cannot run, would change the row."""
    inherited = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return {**inherited, **configuration.environment, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}


def _aarch64(configuration: Configuration, limits: Limits) -> Row:
    """The suite over the cross-compiled library, its loops, or the C++ tests."""
    if configuration.aarch64 == "suite":
        created = replace(limits, libraries=aarch64.libraries(limits.jobs))
        emulated = replace(configuration, executor=aarch64.executor())
        return _suite(emulated, created, Path(sys.executable), _environment(configuration), aarch64.EMULATOR)
    if configuration.aarch64 == "loops":
        library = aarch64.libraries(limits.jobs).library
        loops = vectors.loops(library.parent)
        scalar = sum(loop.vectors is vectors.Vectors.NONE for loop in loops)
        lost = vectors.faults(loops)
        ran = "instructions of the Release build"
        return Row(configuration.title, ran, len(loops), len(loops) - scalar, scalar, tuple(lost))
    found = aarch64.programs(sanitized=configuration.aarch64 == "sanitizers")
    failed = tuple(name for name, text in found.items() if text)
    log = WORK / "logs" / f"aarch64-{configuration.aarch64}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(f"{name}\n{text}\n" for name, text in found.items() if text), encoding="utf-8")
    return Row(configuration.title, aarch64.EMULATOR, len(found), len(found) - len(failed), 0, failed)


def _probed(configuration: Configuration, python: list[str], environment: dict[str, str]) -> str:
    """Settings in effect in the configuration. Raises `Broken` where that is something else than it should be."""
    if not configuration.probe:
        return ""
    command = [*python, str(HERE / "probes.py"), configuration.probe]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    said = done.stdout.strip()
    if done.returncode != 0 or not said.startswith(configuration.effect):
        detail = said or done.stderr.strip().rsplit("\n", 1)[-1]
        raise Broken(f"{configuration.probe} gives '{detail}', not '{configuration.effect}'")
    return said


def _suite(configuration: Configuration, limits: Limits, python: Path, environment: dict[str, str], effect: str) -> Row:
    own = BUILDS[configuration.build]
    libraries = limits.libraries or builds.build(own, limits.jobs)
    one_level = _ONE_LEVEL in libraries.library.read_bytes()
    if one_level and _VARIABLE in configuration.environment:
        raise Skipped("the library is built for one instruction set")
    slug = re.sub(r"[^a-z0-9]+", "-", configuration.title.lower()).strip("-")
    results = WORK / "results" / f"{slug}.json"
    results.unlink(missing_ok=True)
    command = [
        str(python), "-m", "diopigen", "conformance", "run", "--lib", str(libraries.library), "--runtime",
        str(libraries.runtime), "-j", str(limits.jobs), "--json", str(results), "--failures", "1000",
    ]  # fmt: skip
    samples = [number for number in (configuration.sample, limits.sample) if number]
    if samples:
        command += ["--sample", str(min(samples))]
    if configuration.emulated:
        command += ["--executor", f"launcher={configuration.emulated}"]
    if configuration.executor:
        command += ["--executor", configuration.executor]
    if configuration.emulated or configuration.executor:
        command += ["--limit", "time=600", "--limit", "memory=0"]
    log = WORK / "logs" / f"{slug}.log"
    log.unlink(missing_ok=True)
    status = builds.run_logged(command, log, environment)
    if status not in (0, 1) or not results.exists():
        raise Broken(f"conformance run ends with {status}: {log.relative_to(ROOT)}")
    row = _row(configuration.title, results)
    wrong = "" if one_level else _version_fault(row.ran, configuration, None if limits.libraries else own)
    if wrong:
        return replace(row, broken=wrong)
    return replace(row, ran=", ".join(word for word in (row.ran, effect) if word))


def _row(title: str, path: Path) -> Row:
    """The row of a file of results."""
    results = json.loads(path.read_text(encoding="utf-8"))
    counts = results["counts"]
    failed = tuple(case["id"] for case in results["cases"] if case["outcome"] in FAILURES)
    endings = tuple(ending["message"] for ending in results.get("endings", ()))
    cases, passed = len(results["cases"]), int(counts["passed"])
    return Row(
        title, results["version"], cases, passed, cases - passed - len(failed), failed + endings, results["seconds"]
    )


def _version_fault(version: str, configuration: Configuration, own: Build | None) -> str:
    """Errors in the library's version text, such as `1.0.0 (avx2, oneDNN)`."""
    words = re.split(r"[ (),]+", version)
    level = configuration.level
    if level is None and own:
        flags = processor()[1]
        level = "avx512" if "avx512vl" in flags else "avx2" if "avx2" in flags else "baseline"
    if level and level not in words:
        return f"the library is '{version}', and should run on {level}"
    missing = [word for word in sorted(own.libraries if own else ()) if word not in words]
    return f"the library is '{version}', without {' and '.join(missing)}" if missing else ""


def _tests(configuration: Configuration, python: Path, environment: dict[str, str], effect: str) -> Row:
    """Runs tests of pytest."""
    slug = re.sub(r"[^a-z0-9]+", "-", configuration.title.lower()).strip("-")
    report = WORK / "results" / f"{slug}.xml"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    log = WORK / "logs" / f"{slug}.log"
    log.unlink(missing_ok=True)
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junit-xml={report}",
        *configuration.tests,
    ]
    started = time.monotonic()
    status = builds.run_logged(command, log, environment)
    if status not in (0, 1) or not report.exists():
        raise Broken(f"pytest ends with {status}: {log.relative_to(ROOT)}")
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None
    failed = tuple(
        f"{case.get('classname')}::{case.get('name')}"
        for case in suite.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    )
    total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
    return Row(
        configuration.title, effect, total, total - skipped - len(failed), skipped, failed, time.monotonic() - started
    )
