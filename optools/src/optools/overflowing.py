"""The first operator that makes inf or NaN of finite inputs, and how near to its dtype's limit each one comes."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from optools.capturing import written_arguments
from optools.context import CONTEXT, Where
from optools.mode import Call, Proceed, Selection, Tool, quiet
from optools.reference import named_outputs
from optools.store import ranked
from optools.tensors import plain, tensors_of, walk
from optools.text import table

_SHOWN = 5


@dataclass(frozen=True)
class Overflow:
    """A call that made inf or NaN: `values` says which, `operands` the largest magnitudes of its inputs."""

    op: str
    where: Where
    output: str
    dtype: str
    values: str
    operands: str

    def text(self) -> str:
        """Several lines for people."""
        parts = [f"step {self.where.step}", self.where.phase, self.where.module, self.where.node, self.where.api]
        lines = [f"{self.op} made {self.values} in {self.dtype} ({', '.join(part for part in parts if part)})"]
        if self.where.source:
            lines.append(f"  called at {self.where.source}")
        lines.append(f"  largest magnitudes of its inputs: {self.operands}")
        return "\n".join(lines)


@dataclass
class Range:
    """The magnitudes of one operator's results in one dtype. `steps` has the largest one of each step."""

    calls: int = 0
    largest: float = 0
    module: str = ""
    """Location of the largest one."""
    steps: dict[int, float] = field(default_factory=dict)

    def add(self, value: float, where: str) -> None:
        """Counts a result."""
        self.calls += 1
        step = CONTEXT.step
        if value > self.steps.get(step, -1):
            self.steps[step] = value
        if value > self.largest or self.calls == 1:
            self.largest, self.module = value, where


class Overflows(Tool):
    """Looks at the smallest and the largest element of each result. A result counts where no input was inf or NaN
    before the call, neither an element nor a number that is passed."""

    def __init__(
        self, ops: str = "", *, folder: str | Path | None = None, quiet: bool = False, **selection: Any
    ) -> None:
        super().__init__(Selection(ops, **selection))
        self.folder = None if folder is None else Path(folder)
        self.found: list[Overflow] = []
        self.ranges: dict[tuple[str, str], Range] = {}
        self.silent = quiet
        self._bad: dict[int, StorageWeakRef] = {}

    @property
    def first(self) -> Overflow | None:
        """The first call that made inf or NaN."""
        return self.found[0] if self.found else None

    def end(self) -> None:
        if self.folder is not None and self.calls_seen:
            folder = ranked(self.folder)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "overflow.json").write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")

    def as_json(self) -> dict[str, Any]:
        """The findings and ranges for files."""
        ranges = [{"op": op, "dtype": dtype, **asdict(one)} for (op, dtype), one in self.ranges.items()]
        found = [{**asdict(one), "where": one.where._asdict()} for one in self.found]
        return {"found": found, "ranges": ranges, "skipped": dict(self.skipped)}

    def call(self, call: Call, proceed: Proceed) -> Any:
        out = proceed(call)
        if call.facts.computes:
            with quiet():
                self._look(call, out)
        return out

    def _look(self, call: Call, out: Any) -> None:
        written = written_arguments(call)
        results = {name: value for name, value in named_outputs(out).items() if isinstance(value, torch.Tensor)}
        own = {id(value) for value in results.values()}
        results.update(
            {name: value for name, value in written.items() if id(value) not in own and isinstance(value, torch.Tensor)}
        )
        measured = {name: value for name, value in results.items() if _floating(value)}
        if not measured:
            return
        bounds = torch.stack([torch.stack(extremes(value)) for value in measured.values()]).tolist()
        module = CONTEXT.module()
        bad = []
        for (name, value), (low, high) in zip(measured.items(), bounds, strict=True):
            if math.isfinite(low) and math.isfinite(high):
                key = (call.facts.name, str(value.dtype)[6:])
                self.ranges.setdefault(key, Range()).add(max(abs(low), abs(high)), module)
                self._bad.pop(value.untyped_storage()._cdata, None)
            else:
                bad.append((name, value, low, high))
        if not bad:
            return
        inputs_are_finite = self._inputs_are_finite(call, written)
        for _, value, _, _ in bad:
            self._bad[value.untyped_storage()._cdata] = StorageWeakRef(value.untyped_storage())
        if inputs_are_finite:
            name, value, low, high = bad[0]
            self._report(call, name, value, low, high)

    def _inputs_are_finite(self, call: Call, written: dict[str, Any]) -> bool:
        """Returns whether nothing that the call read was inf or NaN; what it wrote is known from the call before."""
        changed = {id(tensor) for tensor in tensors_of(written)}
        answers = []

        def visit(_: str, value: Any) -> None:
            if isinstance(value, (float, complex)):
                answers.append(math.isfinite(abs(value)))
            elif isinstance(value, torch.Tensor) and _floating(value):
                if id(value) in changed:
                    known = self._bad.get(value.untyped_storage()._cdata)
                    answers.append(known is None or known.expired())
                else:
                    answers.append(all(math.isfinite(bound) for bound in torch.stack(extremes(value)).tolist()))

        walk(call.args, call.kwargs, visit)
        return all(answers)

    def _report(self, call: Call, name: str, value: Any, low: float, high: float) -> None:
        words = []

        def visit(key: str, one: Any) -> None:
            if isinstance(one, torch.Tensor) and _floating(one):
                bounds = torch.stack(extremes(one)).tolist()
                head, _, rest = key.partition("[")
                argument = (call.facts.argument(int(head)) if head.isdigit() else head) + (f"[{rest}" if rest else "")
                words.append(f"{argument} {max(map(abs, bounds)):.4g}")

        walk(call.args, call.kwargs, visit)
        kind = "NaN" if math.isnan(low) or math.isnan(high) else "inf"
        count = int((~value.isfinite()).sum())
        text = f"{kind} in {count} of {value.numel()} elements of {name}"
        dtype = str(value.dtype)[6:]
        found = Overflow(call.facts.name, CONTEXT.where(), name, dtype, text, ", ".join(words) or "none")
        self.found.append(found)
        if not self.silent and len(self.found) <= _SHOWN:
            print(f"optools: {found.text()}", file=sys.stderr, flush=True)

    def table(self) -> str:
        """Operators by how near they come to the largest number of their dtype."""
        rows = []
        for (op, dtype), one in self.ranges.items():
            limit = torch.finfo(getattr(torch, dtype)).max
            rows.append(
                (
                    one.largest / limit,
                    [op, dtype, str(one.calls), f"{one.largest:.4g}", f"{one.largest / limit:.2g}", one.module],
                )
            )
        heads = ["operator", "dtype", "calls", "largest", "of the limit", "module"]
        return table(heads, [row for _, row in sorted(rows, key=lambda item: -item[0])], left=2)


def _floating(value: Any) -> bool:
    return bool(plain(value) and value.dtype.is_floating_point and value.numel() and value.element_size() > 1)


def extremes(value: Any) -> tuple[Any, Any]:
    """The smallest and the largest element in float32 (float64 of float64): inf where one is, NaN where one is."""
    low, high = torch.aminmax(value)
    wide = torch.float64 if value.dtype == torch.float64 else torch.float32
    return low.to("cpu", wide).double(), high.to("cpu", wide).double()


__all__ = ["Overflow", "Overflows", "Range"]
