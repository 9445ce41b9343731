"""Compares each operator with the CPU on the device's own inputs, while the program runs."""

from __future__ import annotations

import functools
import json
import sys
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from optools import reference
from optools.accumulated import Shadows
from optools.capturing import random_state, restore, written_arguments
from optools.check import CallVerdict, Rerun, changed_inputs, check, check_random, diagnose, digest
from optools.context import CONTEXT, Where
from optools.errors import Difference
from optools.mode import Call, Proceed, Selection, Tool, heard, quiet
from optools.reference import Impossible, Results
from optools.store import Store, encoded, ranked
from optools.tensors import Frozen, Unsupported, freeze, host, tensors_of, walk
from optools.text import table

_REMEMBERED = 64
"""Results whose checksums are remembered for each overload, to recognise one that comes back."""
_SHOWN = 10


@dataclass(frozen=True)
class Finding:
    """A wrong call: its location, the difference, and hints."""

    call: int
    op: str
    where: Where
    differences: tuple[Difference, ...]
    hints: tuple[str, ...]
    operands: str
    case: str = ""
    """The folder of the captured call; `optools replay` runs it again."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the differences."""
        return tuple(dict.fromkeys(difference.kind for difference in self.differences))

    def text(self) -> str:
        """Several lines for people."""
        position = [f"step {self.where.step}", self.where.phase, self.where.module, self.where.node, self.where.api]
        lines = [f"{self.op} is wrong ({', '.join(part for part in position if part)})"]
        if self.where.source:
            lines.append(f"  called at {self.where.source}")
        lines.append(f"  operands: {self.operands}")
        for one in self.differences:
            lines.append(f"  {one.output}: {difference_text(one)}")
        lines += [f"  {hint}" for hint in self.hints]
        if self.case:
            lines.append(f"  captured: optools replay {self.case}")
        return "\n".join(lines)


def difference_text(one: Difference) -> str:
    """A difference in a sentence."""
    if one.kind in ("shape", "dtype", "alias"):
        return f"{one.kind}: {one.actual}, the CPU: {one.expected}"
    if one.kind == "input changed":
        return f"the call changed {one.count} of {one.elements} elements of an input, {one.expected} to {one.actual}"
    if one.kind == "not reproducible":
        return f"other numbers from the same state of the generator, {one.count} of {one.elements}"
    if one.kind == "distribution":
        return f"another distribution than the CPU's: distance {one.device_error:.3g}, chance allows {one.bound:.3g}"
    values = f"most at {one.index}: {one.actual}, expected {one.expected}"
    errors = f"error {one.device_error:.3g}, the CPU's {one.cpu_error:.3g}, allowed {one.bound:.3g}"
    return f"{one.kind}: {one.count} of {one.elements} elements, {values}; {errors}"


@dataclass
class Total:
    """Results of all calls of one operator."""

    calls: int = 0
    wrong: int = 0
    worst: float = 0
    local: float = 0
    cpu: float = 0
    accumulated: float = 0

    def add(self, verdict: CallVerdict) -> None:
        """Counts a call."""
        self.calls += 1
        self.wrong += bool(verdict.wrong)
        self.worst, self.local = max(self.worst, verdict.worst), max(self.local, verdict.local)
        self.cpu = max(self.cpu, verdict.cpu)


@dataclass
class Report:
    """Findings of a comparison."""

    findings: list[Finding] = field(default_factory=list)
    totals: dict[str, Total] = field(default_factory=dict)

    @property
    def first(self) -> Finding | None:
        """The first wrong call."""
        return self.findings[0] if self.findings else None

    def table(self) -> str:
        """Operators, worst first."""
        order = sorted(self.totals.items(), key=lambda item: (-item[1].wrong, -item[1].worst))
        rows = [
            [
                op,
                str(one.calls),
                str(one.wrong),
                _short(one.worst),
                _short(one.local),
                _short(one.cpu),
                _short(one.accumulated),
            ]
            for op, one in order
        ]
        heads = ["operator", "calls", "wrong", "error / bound", "device error", "CPU error", "accumulated"]
        return table(heads, rows, left=1)


def _short(value: float) -> str:
    return f"{value:.2g}"


class Compare(Tool):
    """Runs each selected call on the CPU too, in the same dtype and in float64. Wrong calls are captured to `folder`.

    `repeat` runs each call twice on the device, which finds operators whose results vary. `accumulated` computes the
    whole program in float64 as well, which shows how far the device has moved from it.
    """

    def __init__(
        self,
        ops: str = "",
        *,
        folder: str | Path | None = None,
        repeat: bool = False,
        accumulated: bool = False,
        stop_after: int = 0,
        budget: int = 1 << 28,
        quiet: bool = False,
        **selection: Any,
    ) -> None:
        super().__init__(Selection(ops, **selection))
        self.report = Report()
        self.folder = None if folder is None else Path(folder)
        self.repeat = repeat
        self.shadows = Shadows() if accumulated else None
        self.stop_after = stop_after
        self.budget = budget
        self.silent = quiet
        self._calls = 0
        self._seen: dict[str, OrderedDict[Any, int]] = {}

    def end(self) -> None:
        if self.folder is not None and self.calls_seen:
            folder = ranked(self.folder)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "compare.json").write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")

    def as_json(self) -> dict[str, Any]:
        """The report for files."""
        findings = [{**asdict(one), "where": one.where._asdict()} for one in self.report.findings]
        totals = {op: asdict(total) for op, total in self.report.totals.items()}
        return {"findings": findings, "totals": totals, "skipped": dict(self.skipped)}

    def call(self, call: Call, proceed: Proceed) -> Any:
        facts = call.facts
        if not facts.computes or (self.stop_after and len(self.report.findings) >= self.stop_after):
            out = proceed(call)
            if self.shadows is not None and facts.uninitialised:
                self.shadows.forget(out)
            return out
        with quiet():
            try:
                before = freeze(call.args, call.kwargs)
            except Unsupported as reason:
                self.skipped[str(reason)] += 1
                before = None
            state = random_state(call) if facts.random else None
        if before is None:
            return proceed(call)
        out = proceed(call)
        with quiet():
            self._check(call, proceed, before, out, state)
        return out

    def _check(self, call: Call, proceed: Proceed, before: Frozen, out: Any, state: Any) -> None:
        facts = call.facts
        number, self._calls = self._calls, self._calls + 1
        device = reference.collected(facts, out, call.args, call.kwargs)
        after: dict[str, Any] = {}
        walk(call.args, call.kwargs, lambda name, value: _note(after, name, value))
        rerun = Rerun(call.func, facts, functools.partial(_called, call, proceed))
        if facts.random:
            verdict = self._random(call, before, device, state, after, rerun)
        else:
            verdict = check(call.func, facts, before, device, after)
        if verdict.note:
            self.skipped[f"{facts.name}: {verdict.note}"] += 1
        if self.repeat and not facts.random and not verdict.wrong and (again := rerun(before)) is not None:
            second = check(call.func, facts, before, again, None)
            if second.wrong:
                verdict = second
        total = self.report.totals.setdefault(facts.name, Total())
        total.add(verdict)
        if self.shadows is not None:
            error = self.shadows.follow(call, before, out, device)
            total.accumulated = max(total.accumulated, error)
        earlier = self._earlier(facts.name, device, number)
        if verdict.wrong:
            hints = [] if facts.random else list(diagnose(facts, before, device, rerun))
            if earlier is not None:
                hints.insert(0, f"the result is that of call {earlier}")
            self._found(call, number, verdict, tuple(hints), before, out)

    def _random(
        self, call: Call, before: Frozen, device: Results, state: Any, after: dict[str, Any], rerun: Rerun
    ) -> CallVerdict:
        facts = call.facts
        wrong = changed_inputs(facts, before, after)
        again = None
        if state is not None:
            reached = random_state(call)
            restore(call, state)
            again = rerun(before)
            if reached is not None:
                restore(call, reached)
        cpu = _on_cpu(call, before)
        wrong += list(check_random(facts, device, again, cpu))
        return CallVerdict(tuple(wrong), 0, 0, 0)

    def _earlier(self, op: str, device: Results, number: int) -> int | None:
        """The earlier call of the operator with the same result; results of few elements repeat by themselves."""
        if sum(value.numel() for value in device.outputs.values()) < 8:
            return None
        seen = self._seen.setdefault(op, OrderedDict())
        own = digest(device)
        found = seen.get(own)
        seen[own] = number
        if len(seen) > _REMEMBERED:
            seen.popitem(last=False)
        return found

    def _found(
        self, call: Call, number: int, verdict: CallVerdict, hints: tuple[str, ...], before: Frozen, out: Any
    ) -> None:
        case = self._saved(call, number, before, out)
        where = CONTEXT.where()
        finding = Finding(number, call.facts.name, where, verdict.wrong, hints, operands_text(before), case)
        self.report.findings.append(finding)
        if not self.silent and len(self.report.findings) <= _SHOWN:
            print(f"optools: {finding.text()}", file=sys.stderr, flush=True)

    def _saved(self, call: Call, number: int, before: Frozen, out: Any) -> str:
        """Captures a wrong call to a folder of its own."""
        if self.folder is None or before.nbytes > self.budget:
            return ""
        folder = ranked(self.folder) / "wrong" / f"{number}_{call.facts.name.replace('::', '_')}"
        store = Store(folder, self.budget)
        if (folder / "calls.jsonl").exists():
            return str(folder)
        store.open(folder)
        try:
            outputs = freeze(out if isinstance(out, (tuple, list)) else (out,), {})
            written = freeze((), written_arguments(call))
            digests = store.add(before, outputs, written)
            if digests is None:
                return ""
            line = {
                "call": 0,
                **CONTEXT.where()._asdict(),
                "op": call.facts.name,
                "stored": True,
                "args": encoded(list(before.args), digests[0]),
                "kwargs": encoded(dict(before.kwargs), digests[0]),
                "outputs": encoded(list(outputs.args), digests[1]),
                "written": encoded(dict(written.kwargs), digests[2]),
            }
            store.write(json.dumps(line) + "\n")
        except Unsupported:
            return ""
        finally:
            store.close()
        return str(folder)


def _note(after: dict[str, Any], name: str, value: Any) -> None:
    for tensor in tensors_of(value):
        after[name] = host(tensor)


def _called(call: Call, proceed: Proceed, *args: Any, **kwargs: Any) -> Any:
    """The call with other arguments, as the program makes it."""
    with heard():
        return proceed(Call(call.func, call.facts, args, kwargs))


def _on_cpu(call: Call, before: Frozen) -> Results | None:
    """A random call on the CPU, from a generator of its own."""
    import torch

    state = torch.get_rng_state()
    try:
        return reference.run(call.func, call.facts, before, "cpu")
    except Impossible:
        return None
    finally:
        torch.set_rng_state(state)


def operands_text(before: Frozen) -> str:
    """Shapes and dtypes in one line, and other arguments as they are."""
    words = []
    for value in (*before.args, *[f"{name}={one}" for name, one in before.kwargs.items() if one is not None]):
        words.append(_operand(value))
    return ", ".join(words)


def _operand(value: Any) -> str:
    from optools.tensors import View

    if isinstance(value, View):
        import torch

        own = tuple(torch.empty(value.shape, device="meta").stride())
        strides = "" if own == value.stride else f" stride {list(value.stride)}"
        return f"{str(value.dtype)[6:]}{list(value.shape)}{strides}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_operand(item) for item in value) + "]"
    return str(value)
