"""Properties in the schema of an operator: written arguments, views, random or uninitialised results."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch

OUTSIDE = frozenset({"prim", "prims", "profiler", "inductor", "higher_order", "debugprims", "streams"})
"""Namespaces whose operators compute nothing that can be compared."""
COLLECTIVE = frozenset({"c10d", "_c10d_functional", "c10d_functional", "_c10d_functional_autograd"})

_HIDDEN_WRITES = {
    "native_batch_norm": ("running_mean", "running_var"),
    "cudnn_batch_norm": ("running_mean", "running_var"),
    "miopen_batch_norm": ("running_mean", "running_var"),
}
"""Arguments that an operator writes although its schema does not say so."""
_STORAGE = frozenset({"set_", "resize_", "resize_as_", "record_stream", "resize", "_resize_output_"})
"""Operators on the memory of a tensor, not on its elements."""
_QUESTIONS = frozenset({"is_pinned", "_pin_memory", "pin_memory", "_has_compatible_shallow_copy_type"})


@dataclass(frozen=True)
class Facts:
    """Properties of an overload."""

    name: str
    """As ATen has it, without the namespace if that is aten: `mul.Tensor`, `silu`, `torchvision::nms`."""
    base: str
    namespace: str
    arguments: tuple[str, ...]
    written: tuple[str, ...]
    """Names of arguments that the call writes."""
    returned: tuple[str | None, ...]
    """By output: the argument that it is or is a view of."""
    view: bool
    """It returns views of arguments, and writes nothing."""
    random: bool
    uninitialised: bool
    """Its result has no values yet."""
    chooses: bool
    """It returns values and the positions of these, of which several may be right."""
    computes: bool
    """Its results are values that follow from its arguments: neither a view, nor uninitialised, nor outside of ATen."""

    @property
    def collective(self) -> bool:
        """Returns whether it communicates."""
        return self.namespace in COLLECTIVE

    def argument(self, index: int) -> str:
        """The name of a positional argument."""
        return self.arguments[index] if index < len(self.arguments) else str(index)


_KNOWN: dict[Any, Facts] = {}


def facts_of(func: Any) -> Facts:
    """The facts of an `OpOverload`; cached."""
    found = _KNOWN.get(func)
    if found is None:
        found = _KNOWN[func] = _read(func)
    return found


def overload_of(name: str) -> Any:
    """The `OpOverload` of `Facts.name`. Raises `LookupError` where torch has none."""
    namespace, _, rest = name.rpartition("::")
    base, _, overload = rest.partition(".")
    try:
        func = getattr(getattr(getattr(torch.ops, namespace or "aten"), base), overload or "default")
    except (AttributeError, RuntimeError):
        func = None
    # `torch.ops` has attributes that are no operators, such as its functions that load a library.
    if not isinstance(func, torch._ops.OpOverload):
        raise LookupError(f"torch {torch.__version__} has no operator '{name}'")
    return func


def refusal(func: Any, namespaces: Collection[str] = ()) -> str:
    """Why an overload that a file names is not called; empty where it only computes on its arguments.

    A capture may come from another machine. Operators of ATen that return or write tensors run, except those that
    open a file; operators of other libraries run if their namespace is in `namespaces`.
    """
    facts = facts_of(func)
    if facts.namespace != "aten" and facts.namespace not in namespaces:
        return f"an operator of '{facts.namespace}', which runs only where --namespace names it"
    arguments = func._schema.arguments
    if any(str(argument.type) == "str" and "file" in argument.name for argument in arguments):
        return "it opens a file"
    if not facts.written and not any("Tensor" in str(result.type) for result in func._schema.returns):
        return "it returns no tensor"
    return ""


def _read(func: Any) -> Facts:
    schema = func._schema
    namespace, _, base = schema.name.partition("::")
    overload = f".{schema.overload_name}" if schema.overload_name else ""
    name = (base if namespace == "aten" else schema.name) + overload
    sets = {}
    written = list(_HIDDEN_WRITES.get(base, ()))
    for argument in schema.arguments:
        alias = argument.alias_info
        if alias is None:
            continue
        for letter in alias.before_set:
            sets[letter] = argument.name
        if alias.is_write:
            written.append(argument.name)
    returned: list[str | None] = []
    for result in schema.returns:
        alias = result.alias_info
        letters = [] if alias is None else [letter for letter in alias.before_set if letter in sets]
        returned.append(sets[letters[0]] if letters else None)
    view = not written and bool(returned) and all(one is not None for one in returned)
    uninitialised = "empty" in base.split("_") or base in ("new_empty", "new_empty_strided", "empty_strided")
    outside = namespace in OUTSIDE or namespace in COLLECTIVE or base in _STORAGE or base in _QUESTIONS
    return Facts(
        name=name,
        base=base,
        namespace=namespace,
        arguments=tuple(argument.name for argument in schema.arguments),
        written=tuple(written),
        returned=tuple(returned),
        view=view,
        random=torch.Tag.nondeterministic_seeded in func.tags,
        uninitialised=uninitialised,
        chooses=[result.name for result in schema.returns] == ["values", "indices"],
        computes=not (view or uninitialised or outside),
    )
