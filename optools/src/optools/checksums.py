"""Checksums of a run: outputs and gradients of modules, gradients of parameters, parameters, losses, step by step.

They are computed on the host from copies, so that a wrong operator of the device cannot hide itself. Two runs from the
same seed are compared by them: each difference is an estimate of the relative error of an element.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from optools.context import CONTEXT
from optools.expression import Steps
from optools.falling_back import Fallback
from optools.mode import Call, Mode, Proceed, Selection, Tool, quiet
from optools.store import FolderError, ranked
from optools.tensors import host, plain, tensors_of

FILE = "checksums.jsonl"
NOISE = 64.0
"""Units of the dtype's precision below which a tensor is rounding, next to the largest of its kind."""
FIRST = 8
"""Elements whose values are written."""
OUTPUT, GRADIENT, PARAMETER_GRADIENT, PARAMETER, LOSS = "output", "gradient", "parameter gradient", "parameter", "loss"


@dataclass(frozen=True)
class Event:
    """A checksum. `weighted` is the sum with signs in a fixed irregular order, which sees a permutation."""

    step: int
    kind: str
    name: str
    occurrence: int
    dtype: str
    elements: int
    total: float
    weighted: float
    magnitude: float
    first: tuple[float, ...]

    @property
    def key(self) -> tuple[int, str, str, int]:
        """Key of the same event in another run."""
        return self.step, self.kind, self.name, self.occurrence


class Checksums(Tool):
    """Writes the checksums of a run to a folder. `on_cpu` runs every operator on the CPU; `change` is another tool that
    changes what operators do."""

    def __init__(
        self, folder: str | Path, *, steps: str | int | None = None, on_cpu: bool = False, change: Tool | None = None
    ) -> None:
        super().__init__(Selection())
        self.steps = Steps.of(steps)
        self.change = Fallback() if on_cpu else change
        self.folder = Path(folder)
        self._lines: Any = None
        self._handles: list[Any] = []
        self._counts: Counter[tuple[int, str, str]] = Counter()
        self._parameters: dict[int, str] = {}
        self._started = False

    def begin(self) -> None:
        folder = ranked(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._lines = (folder / FILE).open("w", encoding="utf-8")
        hooks = torch.nn.modules.module
        self._handles = [
            hooks.register_module_forward_pre_hook(self._initial),
            hooks.register_module_forward_hook(self._output),
        ]
        CONTEXT.watchers.append(self._watch)
        Mode.of_thread().api.roots.append(self._loss)

    def require_known(self) -> None:
        if self.change is not None:
            self.change.require_known()

    def call(self, call: Call, proceed: Proceed) -> Any:
        change = self.change
        if change is None or not change.selection.takes(call.func, call.facts):
            return proceed(call)
        return change.call(call, proceed)

    def end(self) -> None:
        CONTEXT.watchers.remove(self._watch)
        Mode.of_thread().api.roots.remove(self._loss)
        for handle in self._handles:
            handle.remove()
        self._lines.close()

    def _output(self, module: Any, _: Any, output: Any) -> None:
        if not self.steps.contain(CONTEXT.step):
            return
        name = CONTEXT.name_of(module)
        if name not in self._parameters.values():
            for path, parameter in module.named_parameters(recurse=False):
                self._parameters.setdefault(id(parameter), f"{name}.{path}")
        for index, tensor in enumerate(tensors_of(output)):
            own = f"{name}[{index}]" if index else name
            self._write(OUTPUT, own, tensor)
            if tensor.requires_grad and tensor.grad_fn is not None:
                tensor.register_hook(self._gradient(own))

    def _gradient(self, name: str) -> Callable[[Any], None]:
        def record(gradient: Any) -> None:
            if self._handles and self.steps.contain(CONTEXT.step):
                self._write(GRADIENT, name, gradient)

        return record

    def _initial(self, module: Any, _: Any) -> None:
        """The parameters before anything was computed: runs from different seeds differ in them."""
        if self._started:
            return
        self._started = True
        for path, parameter in module.named_parameters():
            self._write(PARAMETER, f"initial {path}", parameter)

    def _loss(self, tensor: Any) -> None:
        self._write(LOSS, "loss", tensor)

    def _watch(self, what: str, optimizer: Any) -> None:
        if what == "step" or optimizer is None or not self.steps.contain(CONTEXT.step):
            return
        kind = PARAMETER_GRADIENT if what == "before" else PARAMETER
        for group_number, group in enumerate(optimizer.param_groups):
            for number, parameter in enumerate(group["params"]):
                tensor = parameter.grad if what == "before" else parameter
                if tensor is not None:
                    name = self._parameters.get(id(parameter), f"group {group_number}, parameter {number}")
                    self._write(kind, name, tensor)

    def _write(self, kind: str, name: str, tensor: Any) -> None:
        if not isinstance(tensor, torch.Tensor) or not tensor.dtype.is_floating_point or not plain(tensor):
            return
        key = CONTEXT.step, kind, name
        occurrence = self._counts[key]
        self._counts[key] += 1
        with quiet():
            values = host(tensor).reshape(-1).double()
            order = torch.arange(values.numel(), device="cpu")
            signs = ((order * 2654435761) >> 7) % 2 * 2 - 1
            sums = [float(values.sum()), float((values * signs).sum()), float(values.abs().sum())]
            first = values[:FIRST].tolist()
        line = [*key, occurrence, str(tensor.dtype)[6:], values.numel(), *sums, first]
        self._lines.write(json.dumps(line) + "\n")
        self._lines.flush()


def read_events(folder: Path) -> list[Event]:
    """The checksums of a run. Raises `FolderError`."""
    path = ranked(folder) / FILE
    if not path.exists():
        path = folder / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        raise FolderError(f"{folder} has no checksums ({FILE})") from None
    return [_event(*json.loads(line)) for line in lines]


def _event(step: int, kind: str, name: str, occurrence: int, dtype: str, elements: int, *numbers: Any) -> Event:
    total, weighted, magnitude, first = numbers
    return Event(step, kind, name, occurrence, dtype, elements, total, weighted, magnitude, tuple(first))


@dataclass(frozen=True)
class Deviation:
    """Deviation of an event from the other run: an estimate of the relative error of an element, in units of the
    dtype's precision too."""

    event: Event
    other: Event
    error: float
    units: float
    size: float
    """The difference over the magnitudes, which a sum of independent errors hides."""


def deviations(events: Sequence[Event], others: Sequence[Event]) -> Iterator[Deviation]:
    """The events that both runs have, in the order of the first. Left out is what is nothing but rounding, such as the
    gradient of a bias before a normalisation: its elements are small by the dtype's precision next to others'."""
    known = {event.key: event for event in others}
    largest: dict[tuple[int, str], float] = {}
    for event in events:
        if event.elements and math.isfinite(event.magnitude):
            group = event.step, event.kind
            largest[group] = max(largest.get(group, 0.0), event.magnitude / event.elements)
    for event in events:
        other = known.get(event.key)
        if other is None:
            continue
        least = NOISE * float(torch.finfo(getattr(torch, event.dtype)).eps) * largest.get((event.step, event.kind), 0.0)
        if max(event.magnitude, other.magnitude) >= least * event.elements or not math.isfinite(event.magnitude):
            error = difference(event, other)
            eps = float(torch.finfo(getattr(torch, event.dtype)).eps)
            yield Deviation(event, other, error, error / eps, difference(event, other, independent=False))


def difference(one: Event, other: Event, independent: bool = True) -> float:
    """An estimate of the relative error of an element: independent errors of n elements add up to sqrt(n) in a sum.
    Where they are not, it is an upper bound; without `independent` it is what the sums show."""
    if one.elements != other.elements:
        return math.inf
    sums = [(one.total, other.total), (one.weighted, other.weighted), (one.magnitude, other.magnitude)]
    values = [*sums, *zip(one.first, other.first, strict=True)]
    if any(math.isnan(a) != math.isnan(b) or math.isinf(a) != math.isinf(b) for a, b in values):
        return math.inf
    if one.elements == 0 or not math.isfinite(one.magnitude):
        return 0.0
    magnitude = max(one.magnitude, other.magnitude)
    if magnitude == 0:
        return 0.0
    scale = math.sqrt(one.elements) if independent else 1.0
    found = [abs(a - b) * scale / magnitude for a, b in sums]
    mean = magnitude / one.elements
    found += [abs(a - b) / max(abs(a), abs(b), mean) for a, b in zip(one.first, other.first, strict=True)]
    return max(found)


@dataclass(frozen=True)
class StepRow:
    """One training step of two runs. `first` is the event of the step that differs first beyond rounding."""

    step: int
    loss: float | None
    other_loss: float | None
    gradients: float
    parameters: float
    first: str


def step_rows(events: Sequence[Event], others: Sequence[Event], beyond: float) -> list[StepRow]:
    """The two runs step by step: losses, the largest deviation of gradients and of parameters."""
    found: dict[int, list[Deviation]] = {}
    for one in deviations(events, others):
        found.setdefault(one.event.step, []).append(one)
    rows = []
    for step, group in sorted(found.items()):
        loss = next((one for one in group if one.event.kind == LOSS), None)
        losses = (None, None) if loss is None else (loss.event.total, loss.other.total)
        largest = {
            kind: max((one.size for one in group if one.event.kind == kind), default=0.0)
            for kind in (PARAMETER_GRADIENT, PARAMETER)
        }
        first = next((f"{one.event.kind} of {one.event.name}" for one in group if one.units > beyond), "")
        rows.append(StepRow(step, losses[0], losses[1], largest[PARAMETER_GRADIENT], largest[PARAMETER], first))
    return rows
