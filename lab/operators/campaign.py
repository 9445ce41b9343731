"""Runs `conformance aten` over a library of custom operators with injected faults, and without any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.conformance.aten.known import known
from diopigen.conformance.model import FAILURES, Case, CaseResult, Fault
from diopigen.diagnostics import failure
from diopigen.ir.aten import FOR_ALL_DEVICES
from diopigen.ir.aten_model import Overload
from diopigen.ir.model import Function, Interface
from diopigen.package import package_root
from lab.operators.faults import FAULTS, NAMESPACE, OPERATORS, SELECTED, InjectedFault, matching

Progress = Callable[[int, int], None]
"""Called after each run with the number done and the number of all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on a fault: the calls of its operator that count, those that fail, and their axes."""

    fault: InjectedFault
    calls: int
    failed: int
    axes: tuple[str, ...]
    example: str

    @property
    def is_found(self) -> bool:
        """Returns whether a call fails that is right without the fault."""
        return self.failed > 0


def selected(globs: Sequence[str]) -> list[InjectedFault]:
    """The faults that match a glob by name or operator, else all. Raises `Failure` for a glob that matches none."""
    for glob in globs:
        if not matching([glob]):
            raise failure("fault-unknown", f"no fault matches '{glob}'", fix="see `python -m lab operators --list`")
    return matching(globs) if globs else list(FAULTS)


class Campaign:
    """Runs over faults, in a folder. An operator has at most one fault in a run, and no operator calls another one, so
    that faults of several operators are looked for in one run. The first run, without a fault, is the control."""

    def __init__(self, interface: Interface, folder: Path, *, python: str = sys.executable, jobs: int = 1) -> None:
        self.functions = {_called(one): function for function in interface.functions for one in function.aten}
        self.folder, self.python, self.jobs = folder, python, jobs

    def run(
        self, injected: Sequence[InjectedFault], progress: Progress | None = None
    ) -> tuple[dict[str, str], list[Outcome]]:
        """The failures of the control that are not known of ATen's kernels, by case, and an outcome for each fault."""
        self.folder.mkdir(parents=True, exist_ok=True)
        operators = sorted({fault.operator for fault in injected})
        rounds = [[], *_rounds(injected, self.functions)]
        results = []
        for number, faults in enumerate(rounds):
            results.append(self._results(operators, faults, number))
            if progress is not None:
                progress(number + 1, len(rounds))
        control = {one["id"]: one["outcome"] for one in results[0] if one["outcome"] in FAILURES}
        unknown = {one["id"]: one["outcome"] for one in results[0] if one["id"] in control and not _is_known(one)}
        outcomes = {
            fault.name: self._outcome(fault, cases, control)
            for faults, cases in zip(rounds, results, strict=True)
            for fault in faults
        }
        return unknown, [outcomes[fault.name] for fault in injected]

    def _outcome(self, fault: InjectedFault, cases: Iterable[Mapping[str, Any]], control: Mapping[str, str]) -> Outcome:
        called = [one for one in cases if one["id"].endswith(f"@{NAMESPACE}::{fault.operator}")]
        counting = [one for one in called if one["outcome"] == "passed" or one["outcome"] in FAILURES]
        failed = [one for one in counting if one["outcome"] in FAILURES and one["id"] not in control]
        axes = Counter(one["axis"] for one in failed)
        example = failed[0]["id"].partition("@")[0] if failed else ""
        return Outcome(fault, len(counting), len(failed), tuple(axis for axis, _ in axes.most_common()), example)

    def _results(
        self, operators: Sequence[str], faults: Sequence[InjectedFault], number: int
    ) -> list[Mapping[str, Any]]:
        """The cases of a run."""
        touched = {fault.operator for fault in faults} or set(operators)
        names, report = self.folder / "operators.json", self.folder / f"run-{number}.json"
        entries: dict[str, list[dict[str, Any]]] = {}
        for name in sorted(touched):
            entries.setdefault(self.functions[name].name, []).append(_entry(self.functions[name], name))
        names.write_text(json.dumps({"operators": entries}))
        report.unlink(missing_ok=True)
        words = [sys.executable, "-m", "diopigen", "conformance", "aten", "--device", "cpu", "--python", self.python]
        words += ["--register", "lab.operators.library", "--operators", str(names), "-j", str(self.jobs)]
        words += ["--output", f"json={report}"]
        root = str(package_root())
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]),
            OPERATORS: ",".join(sorted(touched)),
            SELECTED: ",".join(fault.name for fault in faults),
        }
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
        if not report.exists():
            raise failure("suite-failed", f"conformance aten ends with {done.returncode}: {done.stderr.strip()[-300:]}")
        cases: list[Mapping[str, Any]] = json.loads(report.read_text())["cases"]
        return cases


def _rounds(injected: Iterable[InjectedFault], functions: Mapping[str, Function]) -> list[list[InjectedFault]]:
    """The faults in as few runs as possible, each operator once in a run."""
    rounds: list[list[InjectedFault]] = []
    for fault in injected:
        if fault.operator not in functions:
            raise failure("fault-unknown", f"the spec has no overload '{fault.operator}' for '{fault.name}'")
        free = (one for one in rounds if all(other.operator != fault.operator for other in one))
        if (found := next(free, None)) is not None:
            found.append(fault)
        else:
            rounds.append([fault])
    return rounds


def _is_known(one: Mapping[str, Any]) -> bool:
    """Returns whether a failure is a known one of ATen's kernel, which the operator calls, or its refusal."""
    if all("the call is refused" in fault["message"] for fault in one.get("faults", ())):
        return True
    operator = one["overload"].partition("::")[2]
    case = Case(one["id"], one["function"], one["family"], one["dtype"], one["axis"], {}, overload=operator)
    faults = tuple(Fault(fault["kind"], fault["parameter"], fault["message"]) for fault in one.get("faults", ()))
    result = CaseResult(case, one["outcome"], 0.0, faults)
    return any(entry.explains(result) for entry in known() if not entry.compiler)


def _called(overload: Overload) -> str:
    """The overload that is called for it on any device."""
    return FOR_ALL_DEVICES.get(overload.name, overload.name)


def _entry(function: Function, name: str) -> dict[str, Any]:
    """The entry of an operator in the file of `--operators`, from that of the spec's overload."""
    overload: Overload = next(one for one in function.aten if _called(one) == name)
    entry: dict[str, Any] = {"overload": f"{NAMESPACE}::{name}"}
    if overload.constants:
        entry["bind"] = {param: value.value for param, value in overload.constants.items()}
    if overload.names:
        entry["names"] = dict(overload.names)
    return entry
