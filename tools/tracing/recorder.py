"""Records every ATen call below autograd, with shapes, dtypes and plain arguments.

Networks run on the meta device: shapes and dtypes are inferred, no number is computed and no memory is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode

from diopigen.conformance.cases.aten_calls import AtenCall, Seen

current: Recorder | None = None
"""The recorder at work, for operators that note their call themselves."""

_MOVES_NOTHING = frozenset({"_unsafe_view", "_reshape_alias", "detach", "alias", "lift_fresh", "_local_scalar_dense"})
"""Overloads that read no elements on the device, although their schemas do not say that they are views."""
_WHOLE = frozenset({"rsub"})
"""Operators that take part as they are, although ATen could write them as others with the operands exchanged."""
_ALLOCATES = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided")


class Recorder(TorchDispatchMode):
    """Collects calls. `known` says whether there is a function for an overload; others are taken to pieces. `functions`
    are those of operators of the namespace `diopi`."""

    def __init__(self, known: Callable[[str], bool], functions: Mapping[str, str]) -> None:
        super().__init__()
        self.known, self.functions = known, functions
        self.phase: str | None = None
        self.calls: list[AtenCall] = []
        self.views: Counter[tuple[str, str]] = Counter()
        self.allocations: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def during(self, phase: str | None) -> Iterator[None]:
        """Calls inside belong to the phase; to none where it is None."""
        global current
        before, self.phase, current = self.phase, phase, self
        with self:
            yield
        self.phase = before

    def call(
        self, function: str, name: str, arguments: dict[str, Any], results: tuple[Any, ...] = (), why: str = ""
    ) -> None:
        """Notes a call that ATen has no overload for, or has one that only some devices run, by its function. `why`
        says what was cut, where shapes are smaller than the model's."""
        if self.phase is not None:
            named = {"function": function, **{key: seen(value) for key, value in arguments.items()}}
            self.calls.append(AtenCall(self.phase, name, named, tuple(map(seen, results)), why))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.partition("::")[2]
        if func.namespace == "diopi":
            found = func(*args, **kwargs)
            results = (found,) if isinstance(found, torch.Tensor) else found or ()
            self.call(self.functions[name], f"diopi::{name}", _passed(func, args, kwargs), tuple(results))
            return found
        overload = f"{name}.{func._schema.overload_name}" if func._schema.overload_name else name
        is_view = name in _MOVES_NOTHING or func.is_view
        if not is_view and not self.known(overload) and name not in _WHOLE.union(_ALLOCATES):
            with self:
                parts = decomposition_table.get(func, func.decompose)(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        found = func(*args, **kwargs)
        if self.phase is None or _on_host(args, kwargs, found):
            return found
        if is_view:
            self.views[self.phase, overload] += 1
        elif name in _ALLOCATES:
            self.allocations[self.phase, overload] += 1
        else:
            results = found if isinstance(found, (tuple, list)) else (found,)
            self.calls.append(
                AtenCall(self.phase, overload, _named(func, args, kwargs), tuple(seen(item) for item in results))
            )
        return found


def seen(value: Any) -> Any:
    """A value without its tensors."""
    if isinstance(value, torch.Tensor):
        values = getattr(value, "values_of_table", None)
        return Seen(tuple(value.shape), str(value.dtype).removeprefix("torch."), values)
    if isinstance(value, (list, tuple)):
        return [seen(item) for item in value]
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else value


def _named(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for position, argument in enumerate(func._schema.arguments):
        if argument.name in kwargs:
            found[argument.name] = seen(kwargs[argument.name])
        elif position < len(args):
            found[argument.name] = seen(args[position])
        else:
            found[argument.name] = seen(argument.default_value)
    return found


def _passed(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments without those that are absent or have their default, unless they are written."""
    found = dict(zip((one.name for one in func._schema.arguments), args, strict=False)) | kwargs
    for one in func._schema.arguments:
        value = found.get(one.name)
        if one.alias_info is None and not isinstance(value, torch.Tensor) and value in (None, one.default_value):
            found.pop(one.name, None)
    return found


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def _on_host(*values: Any) -> bool:
    """Returns whether no tensor of a call is on the device: step counters of optimizers stay with the host."""
    return not any(tensor.is_meta for value in values for tensor in _tensors(value))
