"""One call against its references: what is wrong with it, and when it is right."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from optools import reference
from optools.bounds import Rule
from optools.errors import Difference, compare_results, kolmogorov
from optools.reference import Impossible, Results
from optools.schema import Facts
from optools.tensors import Frozen, Tensor, View, equal_bits, flat_bytes, tensors_of

_HALF = (torch.float16, torch.bfloat16)
_POSITIONS = {"argmax": "amax", "argmin": "amin"}
"""Operators that return only positions, with those that return their elements."""


@dataclass(frozen=True)
class CallVerdict:
    """Result of one call. `wrong` has the differences that are beyond their bounds; `worst` is the largest device error
    in units of its bound; `local` and `cpu` are the largest errors of the device and of the CPU."""

    wrong: tuple[Difference, ...]
    worst: float
    local: float
    cpu: float
    note: str = ""
    """Why nothing could be compared; empty where it was."""


@dataclass(frozen=True)
class Rerun:
    """Runs the call once more on the device, on copies of operands that may be changed before."""

    func: Any
    facts: Facts
    run: Callable[..., Any]
    """Calls the operator as the program does."""

    def __call__(self, frozen: Frozen) -> Results | None:
        try:
            return reference.run(self.run, self.facts, frozen, None)
        except Impossible:
            return None


def check(func: Any, facts: Facts, before: Frozen, device: Results, after: Mapping[str, Tensor] | None) -> CallVerdict:
    """Compares the results of a call with the CPU's. `before` are the operands before it; `after` the device's operands
    after it, by name, where they are to be checked for changes."""
    wrong = list(changed_inputs(facts, before, after)) if after is not None else []
    same = _try(func, facts, before)
    exact = _try(func, facts, before, reference.widened)
    if isinstance(same, str) and isinstance(exact, str):
        return CallVerdict(tuple(wrong), 0, 0, 0, f"no reference: {same}")
    own, wide = (None if isinstance(one, str) else one for one in (same, exact))
    if own is not None:
        wrong += list(_aliases(device.aliases, own.aliases))
    sensitivity = functools.cache(lambda: _sensitivity(func, facts, before))
    args, kwargs = before.thaw("cpu")
    read = [args, {name: value for name, value in kwargs.items() if name not in facts.written}]
    rule = Rule.of(facts.name, tensors_of(read))
    worst = local = cpu = 0.0
    reference_of = own if own is not None else wide
    assert reference_of is not None
    for group in ("outputs", "written"):
        results: dict[str, Tensor] = getattr(device, group)
        for name, value in results.items():
            pair = [None if one is None else getattr(one, group).get(name) for one in (own, wide)]
            if pair[0] is None and pair[1] is None:
                continue
            if (
                pair[0] is None
                and not value.dtype.is_floating_point
                and not value.dtype.is_complex
                and group == "outputs"
            ):
                pair[0] = pair[1]

            def moved(group: str = group, name: str = name) -> Tensor | None:
                found = sensitivity()
                return None if found is None else getattr(found, group).get(name)

            difference = compare_results(name, value, pair[0], pair[1], rule, moved)
            if (
                difference.kind == "values"
                and group == "outputs"
                and _equally_right(facts, before, device, name, value)
            ):
                continue
            if difference.kind:
                wrong.append(difference)
            worst = max(worst, difference.ratio)
            local, cpu = max(local, difference.device_error), max(cpu, difference.cpu_error)
    return CallVerdict(tuple(wrong), worst, local, cpu)


def _try(func: Any, facts: Facts, before: Frozen, convert: Callable[[Any], Any] | None = None) -> Results | str:
    try:
        return reference.run(func, facts, before, "cpu", convert)
    except Impossible as reason:
        return str(reason)


def _sensitivity(func: Any, facts: Facts, before: Frozen) -> Results | None:
    try:
        return reference.run(func, facts, before, "cpu", reference.widened, reference.rounded_once_more())
    except Impossible:
        return None


def changed_inputs(facts: Facts, before: Frozen, after: Mapping[str, Tensor]) -> list[Difference]:
    """Operands that the call must not change, and did. Operands that share memory with a written one may change."""
    views = before.views()
    written = {view.content for name, view in views.items() if _argument(facts, name) in facts.written}
    found = []
    for name, view in views.items():
        if view.content in written or name not in after:
            continue
        old = torch.as_strided(_typed(before.contents[view.content], view), view.shape, view.stride, view.offset)
        if not equal_bits(old.contiguous(), after[name]):
            different = (old.contiguous() != after[name]).reshape(-1)
            count = int(different.sum())
            index = int(different.to(torch.uint8).argmax())
            values = (str(one.reshape(-1)[index].item()) for one in (old.contiguous(), after[name]))
            argument = _argument(facts, name)
            found.append(Difference("input changed", argument, float("inf"), 0, 0, count, old.numel(), index, *values))
    return found


def _typed(content: Tensor, view: View) -> Tensor:
    return (
        content
        if content.dtype == view.dtype
        else content[: content.numel() // view.dtype.itemsize * view.dtype.itemsize].view(view.dtype)
    )


def _argument(facts: Facts, name: str) -> str:
    head = name.partition("[")[0]
    return facts.argument(int(head)) if head.isdigit() else head


def _aliases(device: Mapping[str, bool], cpu: Mapping[str, bool]) -> list[Difference]:
    """Outputs that share memory with an argument on one side alone."""
    found = []
    for name, shares in device.items():
        if name in cpu and shares != cpu[name]:
            words = ("shares memory with an argument", "has memory of its own")
            actual, expected = words if shares else reversed(words)
            found.append(Difference("alias", name, float("inf"), 0, 0, expected=expected, actual=actual))
    return found


def _equally_right(facts: Facts, before: Frozen, device: Results, name: str, value: Tensor) -> bool:
    """Returns whether positions that differ from the CPU's are of equal values: ties."""
    if not (facts.chooses or facts.base in _POSITIONS) or value.dtype != torch.int64:
        return False
    args, kwargs = before.thaw("cpu")
    source = args[0]
    position = facts.arguments.index("dim")
    dim: Any = kwargs.get("dim", args[position] if len(args) > position else None if facts.base in _POSITIONS else -1)
    if source.dim() == 0:
        return bool((value == 0).all())
    if value.numel() and (int(value.min()) < 0 or int(value.max()) >= source.numel()):
        return False
    if facts.base in _POSITIONS:
        picked = source.reshape(-1)[value] if dim is None else source.gather(dim, _full(value, source, dim))
        best = getattr(source, _POSITIONS[facts.base])
        expected = best() if dim is None else best(dim, keepdim=True)
        return bool((picked.reshape(-1) == expected.reshape(-1)).all())
    values = device.outputs.get("0")
    if values is None or values.shape != value.shape or int(value.max()) >= source.shape[dim]:
        return False
    picked = source.gather(dim, _full(value, source, dim)).reshape(values.shape)
    return bool(((picked == values) | (picked.isnan() & values.isnan())).all())


def _full(index: Tensor, source: Tensor, dim: Any) -> Tensor:
    return index if index.dim() == source.dim() else index.unsqueeze(dim)


def check_random(facts: Facts, first: Results, again: Results | None, cpu: Results | None) -> tuple[Difference, ...]:
    """A random call: the generator in the same state must give the same numbers, and the distribution must be the
    CPU's (Kolmogorov and Smirnov's test of two samples)."""
    found = []
    for group in ("outputs", "written"):
        for name, value in getattr(first, group).items():
            other = None if again is None else getattr(again, group).get(name)
            if other is not None and not equal_bits(value, other):
                found.append(
                    Difference("not reproducible", name, float("inf"), 0, 0, int((value != other).sum()), value.numel())
                )
            expected = None if cpu is None else getattr(cpu, group).get(name)
            if expected is None or expected.shape != value.shape or value.dtype.is_complex or value.numel() < 2:
                continue
            distance, bound = kolmogorov(value, expected)
            if distance > bound or (bool(value.isnan().any()) and not bool(expected.isnan().any())):
                found.append(Difference("distribution", name, distance, 0, bound, elements=value.numel()))
    return tuple(found)


def diagnose(facts: Facts, before: Frozen, device: Results, rerun: Rerun) -> tuple[str, ...]:
    """Hints for a wrong call: the device is called again with changes."""
    found = []
    again = rerun(before)
    if again is not None and not _same(device, again):
        found.append("differs when it is repeated")
    check_again = functools.partial(_right, rerun.func, facts)
    strided = contiguous(before)
    if strided is not None and (result := rerun(strided)) is not None and check_again(strided, result):
        found.append("right for contiguous operands")
    if any(view.dtype in _HALF for view in before.views().values()):
        wide = _converted(before, torch.float32)
        if (result := rerun(wide)) is not None and check_again(wide, result):
            found.append("right in float32")
    if again is not None and "differs when it is repeated" not in found and check_again(before, again):
        found.append("right when it is repeated")
    return tuple(found)


def _right(func: Any, facts: Facts, frozen: Frozen, result: Results) -> bool:
    verdict = check(func, facts, frozen, result, None)
    return not verdict.wrong and not verdict.note


def _same(one: Results, other: Results) -> bool:
    pairs = [(getattr(one, group), getattr(other, group)) for group in ("outputs", "written")]
    return all(equal_bits(own[name], its[name]) for own, its in pairs for name in own if name in its)


def contiguous(frozen: Frozen) -> Frozen | None:
    """The operands with each tensor contiguous and on its own; None where they are already."""
    contents: list[Tensor] = []

    def leaf(value: Any) -> Any:
        if not isinstance(value, View):
            return value
        own = torch.as_strided(_typed(frozen.contents[value.content], value), value.shape, value.stride, value.offset)
        contents.append(own.clone(memory_format=torch.contiguous_format).reshape(-1))
        stride = torch.empty(value.shape, device="meta").stride()
        return View(len(contents) - 1, value.dtype, value.shape, tuple(stride), 0, value.device)

    from optools.tensors import mapped

    if all(
        view.offset == 0 and view.stride == tuple(torch.empty(view.shape, device="meta").stride())
        for view in frozen.views().values()
    ):
        return None
    args, kwargs = mapped(tuple(frozen.args), leaf), mapped(dict(frozen.kwargs), leaf)
    return Frozen(args, kwargs, contents)


def _converted(frozen: Frozen, dtype: Any) -> Frozen:
    """The operands with another dtype for those in half precision."""
    from optools.tensors import mapped

    def leaf(value: Any) -> Any:
        if isinstance(value, View) and value.dtype in _HALF:
            return View(value.content, dtype, value.shape, value.stride, value.offset, value.device)
        return dtype if value in _HALF and isinstance(value, torch.dtype) else value

    contents = [one.to(dtype) if one.dtype in _HALF else one for one in frozen.contents]
    return Frozen(mapped(tuple(frozen.args), leaf), mapped(dict(frozen.kwargs), leaf), contents)


def digest(results: Results) -> tuple[int, ...]:
    """A checksum of the results' bits."""
    values = [*results.outputs.values(), *results.written.values()]
    return tuple(hash(bytes(flat_bytes(value)[: 1 << 16].tolist())) for value in values if value.numel())
