"""Why kernels of PyTorch are handwritten: the reasons of `torch.yaml`, each held against schemas and spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from diopigen.diagnostics import Diagnostic, Severity
from diopigen.emit.torch.binding import BindingError, bind
from diopigen.emit.torch.forms import Family, Kernel
from diopigen.emit.torch.ruled import ruled_kernel
from diopigen.ir.model import Function, Interface

RULES = {
    "torch-reason": "The reason why a kernel for PyTorch is handwritten holds.",
}


@dataclass(frozen=True, slots=True)
class _Facts:
    """Properties of a kernel that its reasons depend on."""

    is_structured: bool
    is_needed: bool
    is_named: bool
    """True if a function of the interface names one of its forms."""
    is_bound: bool
    """True if the arguments are those of the function that names the overload."""
    is_ruled: bool
    """True if the rules of the spec say shapes and dtypes of its results."""
    writes_lists: bool
    calls: tuple[Function, ...]


def _allocates(function: Function) -> bool:
    return any(param.type in ("new_tensor", "new_tensors") for param in function.params)


HOLDS: Mapping[str, Callable[[_Facts], bool]] = {
    "no-meta": lambda facts: not facts.is_structured and not facts.is_ruled and bool(facts.calls),
    "arguments": lambda facts: facts.is_structured and not facts.is_bound,
    "meaning": lambda facts: facts.is_bound if facts.is_structured else facts.is_ruled,
    "composition": lambda facts: not facts.is_named and bool(facts.calls),
    "lists": lambda facts: facts.writes_lists,
    "allocated": lambda facts: any(_allocates(function) for function in facts.calls),
    "preferred": lambda facts: not facts.is_needed,
}
"""The reasons, and when each holds."""


def _is_bound(function: Function | None, kernel: Kernel) -> bool:
    if function is None:
        return False
    try:
        bind(function, kernel.forms.schema)
    except BindingError:
        return False
    return True


def _is_ruled(interface: Interface, family: Family) -> bool:
    try:
        ruled_kernel(interface, family, frozenset())
    except BindingError:
        return False
    return True


def _facts(
    interface: Interface,
    kernel: Kernel,
    family: Family,
    named: Mapping[str, Function],
    by_short_name: Mapping[str, Function],
) -> _Facts:
    """`named` has the first function that names an overload, by overload."""
    return _Facts(
        is_structured=any(group.out == kernel.entry.overload for group in interface.aten.structured),
        is_needed=kernel.entry.overload in interface.aten.needed,
        is_named=any(member in named for member in family.members),
        is_bound=_is_bound(named.get(kernel.entry.overload), kernel),
        is_ruled=_is_ruled(interface, family),
        writes_lists=any(argument.written and argument.is_list for argument in kernel.forms.schema.arguments),
        calls=tuple(by_short_name[name] for name in kernel.entry.calls if name in by_short_name),
    )


def wrong_reasons(interface: Interface, known: Mapping[str, Family], kernels: Sequence[Kernel]) -> list[Diagnostic]:
    """A finding for each kernel whose reason does not hold; `known` are the families by overload."""
    named: dict[str, Function] = {}
    for function in interface.functions:
        for overload in function.aten:
            named.setdefault(overload.name, function)
    by_short_name = {function.short_name: function for function in interface.functions}
    found = []
    for kernel in kernels:
        facts = _facts(interface, kernel, known[kernel.entry.overload], named, by_short_name)
        if HOLDS[kernel.entry.why](facts):
            continue
        message = f"'{kernel.entry.overload}' is not handwritten for the reason '{kernel.entry.why}'"
        others = ", ".join(f"'{reason}'" for reason, holds in HOLDS.items() if holds(facts))
        fix = f"reasons that hold: {others}" if others else "say in calls which functions it calls"
        found.append(Diagnostic("torch-reason", Severity.ERROR, message, kernel.entry.why_span, (), fix))
    return found
