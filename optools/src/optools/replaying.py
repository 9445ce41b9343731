"""Runs captured calls again, on any device, and compares them with the CPU and with what was captured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from optools import reference
from optools.capturing import device_of, random_state
from optools.check import CallVerdict, check
from optools.errors import Difference
from optools.mode import Call, quiet
from optools.reference import Impossible, Results
from optools.schema import facts_of, refusal
from optools.store import FolderError, Stored, read_calls
from optools.tensors import Device, Frozen, View, equal_bits, mapped
from optools.text import shortened, table

NOT_RUN = ("view", "empty", "operands")


@dataclass(frozen=True)
class Outcome:
    """Result of one captured call. `state` is `right`, `wrong`, `skipped` or `failed`; `same` says whether the results
    have the bits that were captured."""

    call: Stored
    state: str
    verdict: CallVerdict | None
    same: bool = False
    why: str = ""


def moved(frozen: Frozen, device: str | None) -> Frozen:
    """The operands with every tensor that was not on the CPU on this device; None leaves all where they were."""
    if device is None:
        return frozen

    def leaf(value: Any) -> Any:
        if isinstance(value, View):
            target = "cpu" if value.device == "cpu" and not _all_on_cpu(frozen) else device
            return replace(value, device=target)
        return Device(device) if isinstance(value, (torch.device, Device)) and str(value) != "cpu" else value

    return Frozen(mapped(tuple(frozen.args), leaf), mapped(dict(frozen.kwargs), leaf), frozen.contents)


def _all_on_cpu(frozen: Frozen) -> bool:
    return all(view.device == "cpu" for view in frozen.views().values())


def replay(
    folder: str | Path,
    numbers: Iterable[int] = (),
    *,
    device: str | None = None,
    takes: Callable[[Stored], bool] = lambda _: True,
    namespaces: Collection[str] = (),
) -> list[Outcome]:
    """Runs the calls of a folder again (all, or those with these numbers): operators of ATen, and of `namespaces`.
    Raises `FolderError`."""
    selected = set(numbers)
    found = []
    for call in read_calls(Path(folder)):
        if (not selected or call.number in selected) and takes(call):
            found.append(run_again(call, device, namespaces))
    missing = selected - {outcome.call.number for outcome in found}
    if missing:
        raise FolderError(f"{folder} has no call {', '.join(map(str, sorted(missing)))}")
    return found


def run_again(call: Stored, device: str | None = None, namespaces: Collection[str] = ()) -> Outcome:
    """Runs one captured call and compares it."""
    try:
        func = call.func
        facts = facts_of(func)
        if reason := refusal(func, namespaces):
            return Outcome(call, "skipped", None, why=reason)
        if not facts.computes:
            return Outcome(call, "skipped", None, why="it computes no values")
        frozen = moved(call.operands(), device)
        captured = call.outputs(), call.written()
    except (FolderError, LookupError) as error:
        return Outcome(call, "skipped", None, why=str(error))
    except (AttributeError, TypeError, ValueError) as error:
        return Outcome(call, "failed", None, why=f"its line is damaged: {error}")
    with quiet():
        if facts.random:
            return _random(call, func, facts, frozen, captured)
        try:
            result = reference.run(func, facts, frozen, None)
        except Impossible as reason:
            return Outcome(call, "failed", None, why=str(reason))
        verdict = check(func, facts, frozen, result, None)
        same = _as_captured(result, *captured)
    if verdict.note and not verdict.wrong:
        return Outcome(call, "skipped", verdict, same, verdict.note)
    return Outcome(call, "wrong" if verdict.wrong else "right", verdict, same)


def _random(call: Stored, func: Any, facts: Any, frozen: Frozen, captured: tuple[Frozen, Frozen]) -> Outcome:
    """A random call from the generator's state before it; only a device of the same kind has the same numbers."""
    saved = call.line.get("random")
    args, kwargs = frozen.thaw(None)
    own = Call(func, facts, tuple(args), kwargs)
    device = device_of(own)
    if saved is None or torch.device(saved["device"]).type != device.type:
        return Outcome(call, "skipped", None, why="random, and captured on another kind of device")
    before = random_state(own)
    state = torch.tensor(list(bytes.fromhex(saved["state"])), dtype=torch.uint8, device="cpu")
    from optools.capturing import restore

    try:
        restore(own, (str(device), state))
        result = reference.collected(facts, func(*args, **kwargs), args, kwargs)
    except Exception as reason:
        return Outcome(call, "failed", None, why=str(reason).splitlines()[0])
    finally:
        if before is not None:
            restore(own, before)
    same = _as_captured(result, *captured)
    difference = Difference("not reproducible", "0", float("inf"), 0, 0)
    verdict = CallVerdict(() if same else (difference,), 0, 0, 0)
    return Outcome(call, "right" if same else "wrong", verdict, same)


def _as_captured(result: Results, outputs: Frozen, written: Frozen) -> bool:
    """Returns whether all results have the captured bits."""
    retained = reference.named_outputs(outputs.thaw("cpu")[0])
    now = {name: value for name, value in result.outputs.items() if name in retained}
    after = {name: value for name, value in written.thaw("cpu")[1].items() if isinstance(value, torch.Tensor)}
    pairs = [(value, retained[name]) for name, value in now.items()]
    pairs += [(value, after[name]) for name, value in result.written.items() if name in after]
    return all(equal_bits(own, reference.as_tensor(other)) for own, other in pairs)


def outcome_table(outcomes: Iterable[Outcome]) -> str:
    """A row for each call that ran, or could not."""
    rows = []
    for one in outcomes:
        verdict = one.verdict
        error = "" if verdict is None else f"{verdict.local:.2g}"
        cpu = "" if verdict is None else f"{verdict.cpu:.2g}"
        ratio = "" if verdict is None else f"{verdict.worst:.2g}"
        text = one.why or ", ".join(dict.fromkeys(wrong.kind for wrong in (verdict.wrong if verdict else ())))
        rows.append(
            [
                str(one.call.number),
                one.call.op,
                one.state,
                ratio,
                error,
                cpu,
                "yes" if one.same else "no",
                shortened(text, 60),
            ]
        )
    heads = ["call", "operator", "result", "error / bound", "device error", "CPU error", "captured bits", ""]
    return table(heads, rows, left=3)


def list_table(calls: Iterable[Stored]) -> str:
    """A row for each captured call."""
    rows = []
    for call in calls:
        line = call.line
        where = line["module"] or line["node"] or line["api"]
        rows.append(
            [str(call.number), str(line["step"]), line["phase"], call.op, where, operands_line(line), line["source"]]
        )
    return table(["call", "step", "phase", "operator", "where", "operands", "source"], rows, left=7)


def operands_line(line: dict[str, Any], width: int = 60) -> str:
    """Shapes and dtypes of a captured call."""
    words = [operand(value) for value in line["args"]]
    words += [f"{name}={operand(value)}" for name, value in line["kwargs"].items() if value is not None]
    return shortened(", ".join(words), width)


def operand(value: Any) -> str:
    """One argument of a line in short."""
    if isinstance(value, dict):
        if "tensor" in value:
            return f"{value['dtype']}{value['shape']}"
        return str(next(iter(value.values())))
    if isinstance(value, list):
        return "[" + ", ".join(operand(item) for item in value) + "]"
    return str(value)


def show(call: Stored) -> str:
    """Everything that is known of a call: where it is called, and its operands and results with their ranges."""
    line = call.line
    lines = [f"call {call.number}: {call.op}"]
    for key in ("step", "phase", "module", "node", "api", "source", "why"):
        if line.get(key) not in ("", None):
            lines.append(f"  {key}: {line[key]}")
    try:
        names = facts_of(call.func).arguments
    except LookupError:
        names = ()
    named = [(names[index] if index < len(names) else str(index), value) for index, value in enumerate(line["args"])]
    frozen = {part: getattr(call, part)() for part in ("operands", "outputs", "written")} if call.has_operands else {}
    for title, entries, part in (
        ("arguments", [*named, *line["kwargs"].items()], "operands"),
        ("results", [(str(index), value) for index, value in enumerate(line["outputs"])], "outputs"),
        ("written", list(line.get("written", {}).items()), "written"),
    ):
        if entries:
            lines.append(f"  {title}")
        values: list[Any] = []
        if part in frozen:
            args, kwargs = frozen[part].thaw("cpu")
            values = [*args, *kwargs.values()]
        for index, (name, value) in enumerate(entries):
            details = _range(values[index]) if index < len(values) else ""
            strides = (
                f" stride {value['stride']} on {value['device']}"
                if isinstance(value, dict) and "tensor" in value
                else ""
            )
            lines.append(f"    {name}: {operand(value)}{strides}{details}")
    return "\n".join(lines)


def _range(value: Any) -> str:
    """The smallest and the largest element, and how many are not finite."""
    if not isinstance(value, torch.Tensor) or not value.numel():
        return ""
    numbers = torch.view_as_real(value) if value.dtype.is_complex else value
    finite = numbers.double()
    odd = int((~finite.isfinite()).sum())
    finite = finite[finite.isfinite()]
    text = f", {float(finite.min()):.6g} to {float(finite.max()):.6g}" if finite.numel() else ""
    return text + (f", {odd} not finite" if odd else "")
