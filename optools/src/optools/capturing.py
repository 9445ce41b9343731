"""Captures operator calls: shapes and names of all, operands where they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from optools.context import CONTEXT, Raw, formatted
from optools.mode import Call, Proceed, Selection, Tool, quiet
from optools.schema import Facts, facts_of
from optools.store import FolderError, Store, encoded, ranked
from optools.tensors import Frozen, Unsupported, freeze, tensors_of

GIB = 1 << 30
_PENDING = 4096
"""Calls whose lines are formatted at a time."""


class Capture(Tool):
    """Writes the selected calls to a folder.

    With `operands` the memory of arguments and results is stored, at most `budget` bytes of it; without, shapes,
    strides and dtypes alone, which needs no copy and no synchronisation.
    """

    def __init__(
        self,
        folder: str | Path = "optools_captures",
        ops: str = "",
        *,
        operands: bool = True,
        budget: int = GIB,
        **selection: Any,
    ) -> None:
        super().__init__(Selection(ops, **selection))
        self.store = Store(Path(folder), budget)
        self.operands = operands
        self.count = 0
        self._pending: list[tuple[int, tuple[Any, ...]]] = []
        self._texts: dict[Any, str] = {}

    def begin(self) -> None:
        if (ranked(self.store.folder) / "calls.jsonl").exists():
            raise FolderError(f"{self.store.folder} has captures already: name another folder, or remove it")

    def end(self) -> None:
        self._format()
        if self.store.over:
            self.skipped["operands beyond the budget; shapes were captured"] += self.store.over
        self.store.close()

    @property
    def folder(self) -> Path:
        """Folder of the captures of this rank."""
        return self.store.folder

    def call(self, call: Call, proceed: Proceed) -> Any:
        if not self.count:
            self.store.open()  # not before: a process that calls no operator leaves no folder
        if self.operands and self.store.full:
            self.store.over += 1
        elif self.operands and not call.facts.collective:
            return self._with_operands(call, proceed)
        out = proceed(call)
        number = self.count
        self.count = number + 1
        kwargs = call.kwargs
        key = CONTEXT.raw(), call.func, describe(call.args), describe(kwargs) if kwargs else (), describe(out)
        self._pending.append((number, key))
        if len(self._pending) >= _PENDING:
            self._format()
        return out

    def _format(self) -> None:
        """Writes the lines of pending calls; what is the same in many is formatted once."""
        if not self._pending:
            return
        lines = []
        texts = self._texts
        for number, key in self._pending:
            try:
                rest = texts.get(key)
                if rest is None:
                    rest = texts[key] = _line_text(key)
            except TypeError:  # an argument that cannot be a key
                rest = _line_text(key)
            lines.append(f'{{"call": {number}, {rest}}}\n')
        self._pending.clear()
        self.store.write("".join(lines))
        if len(texts) > 1 << 16:
            texts.clear()

    def _with_operands(self, call: Call, proceed: Proceed) -> Any:
        number, self.count = self.count, self.count + 1
        with quiet():
            try:
                before: Frozen | None = freeze(call.args, call.kwargs)
                why = ""
            except Unsupported as reason:
                before, why = None, str(reason)
                self.skipped[why] += 1
        state = None if not call.facts.random else random_state(call)
        out = proceed(call)
        with quiet():
            self._write(number, call, before, why, out, state)
        return out

    def _write(self, number: int, call: Call, before: Frozen | None, why: str, out: Any, state: Any) -> None:
        position = _position_text(CONTEXT.raw())
        parts = None
        if before is not None:
            try:
                outputs = freeze(out if isinstance(out, (tuple, list)) else (out,), {})
                written = freeze((), written_arguments(call))
                parts = (before, outputs, written)
            except Unsupported as reason:
                why = str(reason)
        digests = self.store.add(*parts) if parts is not None else None
        if parts is None or digests is None:
            described = call.func, describe(call.args), describe(call.kwargs), describe(out)
            text = _described_text(call.facts, described)
            why = why or f"beyond the budget of {self.store.budget} bytes"
            self.store.write(f'{{"call": {number}, {position}, "why": {json.dumps(why)}, {text}}}\n')
            return
        line: dict[str, Any] = {
            "op": call.facts.name,
            "stored": True,
            "args": encoded(list(parts[0].args), digests[0]),
            "kwargs": encoded(dict(parts[0].kwargs), digests[0]),
            "outputs": encoded(list(parts[1].args), digests[1]),
            "written": encoded(dict(parts[2].kwargs), digests[2]),
        }
        if state is not None:
            line["random"] = {"state": bytes(state[1].tolist()).hex(), "device": state[0]}
        self.store.write(f'{{"call": {number}, {position}, {json.dumps(line)[1:]}\n')


_PLAIN = frozenset({type(None), bool, int, float, str, torch.dtype, torch.device, torch.layout, torch.memory_format})
_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})


def describe(value: Any) -> Any:
    """Shapes, strides, offsets, dtypes and devices of tensors, and other arguments as they are; a key where they are.

    The inner loop of capturing shapes: nothing is formatted here, and what is frequent comes first."""
    kind = type(value)
    if kind in _TENSORS and value.layout is torch.strided:
        return value.shape, value.stride(), value.dtype, value.device, value.storage_offset()
    if kind in _PLAIN:
        return kind, value  # 1, 1.0 and True are one key of a dict
    if kind is tuple or kind is list:
        return ("list", *map(describe, value))
    if isinstance(value, torch.Tensor):
        try:
            return value.shape, value.stride(), value.dtype, value.device, value.storage_offset()
        except RuntimeError:  # a layout without strides
            return value.shape, None, value.dtype, value.device, str(value.layout)
    if isinstance(value, (list, tuple)):
        return ("list", *map(describe, value))
    if isinstance(value, dict):
        return ("dict", *[(name, describe(item)) for name, item in value.items()])
    return repr, repr(value)


def _plain_description(value: Any) -> Any:
    """JSON of what `describe` returned."""
    if isinstance(value[0], torch.Size):
        shape, stride, dtype, device, offset = value
        own = {"shape": list(shape), "stride": stride and list(stride), "offset": offset}
        return {"tensor": "", "dtype": str(dtype)[6:], **own, "device": str(device)}
    if value[0] == "list":
        return [_plain_description(item) for item in value[1:]]
    if value[0] == "dict":
        return {name: _plain_description(item) for name, item in value[1:]}
    return encoded(value[1], ())


def _described_text(facts: Facts, described: Any) -> str:
    _, args, kwargs, out = described
    line = {
        "op": facts.name,
        "args": _plain_description(args),
        "kwargs": _plain_description(kwargs) if kwargs else {},
        "outputs": _plain_description(out if out[0] == "list" else ("list", out)),
    }
    return json.dumps(line)[1:-1]


def _line_text(key: tuple[Any, ...]) -> str:
    raw, func, *described = key
    return f"{_position_text(raw)}, {_described_text(facts_of(func), (func, *described))}"


def _position_text(raw: Raw) -> str:
    return json.dumps(formatted(raw)._asdict())[1:-1]


def written_arguments(call: Call) -> dict[str, Any]:
    """The arguments that the call writes, by name."""
    found: dict[str, Any] = {}
    for name in call.facts.written:
        value = call.kwargs.get(name)
        if value is None and name in call.facts.arguments:
            index = call.facts.arguments.index(name)
            value = call.args[index] if index < len(call.args) else None
        if value is not None and tensors_of(value):
            found[name] = value
    return found


def random_state(call: Call) -> tuple[str, Any] | None:
    """The device of a random call, and the state of its generator: the one that is passed, or the device's own."""
    generator = call.kwargs.get("generator")
    if generator is not None:
        return str(generator.device), generator.get_state().clone()
    device = device_of(call)
    state = _states(device, "get_rng_state")
    return None if state is None else (str(device), state().clone())


def restore(call: Call, state: tuple[str, Any]) -> None:
    """Sets the generator of a call back to a state of `random_state`."""
    generator = call.kwargs.get("generator")
    if generator is not None:
        generator.set_state(state[1])
        return
    function = _states(torch.device(state[0]), "set_rng_state")
    assert function is not None
    function(state[1])


def _states(device: Any, name: str) -> Callable[..., Any] | None:
    """`get_rng_state` or `set_rng_state` of a device."""
    if device.type == "cpu":
        return getattr(torch, name)  # type: ignore[no-any-return]  # looked up by name
    function = getattr(torch.get_device_module(device), name, None)
    if function is None:
        return None
    return (lambda: function(device)) if name.startswith("get") else (lambda state: function(state, device))


def device_of(call: Call) -> Any:
    """The device that a call runs on: that of its tensors that is not the CPU, else of its arguments, else the CPU."""
    devices = [tensor.device for tensor in tensors_of([call.args, call.kwargs])]
    devices += [value for value in (*call.args, *call.kwargs.values()) if isinstance(value, torch.device)]
    return next((device for device in devices if device.type != "cpu"), torch.device("cpu"))
