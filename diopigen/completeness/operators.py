"""Operators that lack something: cases, an oracle, a kernel of a reference library, an overload of ATen.

The severity follows from the reason. In a tree with reference libraries an operator without cases, oracle or kernel is
a warning, unless its header says why it is not covered. All other gaps are known: those of such headers, those of a
spec that has no libraries next to it, and operators that PyTorch has no overload for. Known gaps are notes: one for all
of them, none where the spec has no libraries, each of them on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from diopigen.completeness.sources import FORMS_FILE, LIBRARIES, Kernel, defined_kernels, fused_forms, libraries
from diopigen.conformance.cases import axes
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.suite import each_recipe, recipe_cases, tested
from diopigen.conformance.oracles import oracle_of, oracles
from diopigen.diagnostics import Note, Severity, Sink, Span, did_you_mean
from diopigen.emit.cpu.kernels import groups
from diopigen.emit.entry.functions import arguments_name, kernel_name
from diopigen.ir.model import Function, Interface

RULES = {
    "missing-cases": "The suite has a call of each operator that has to succeed.",
    "missing-oracle": "The suite knows the right results of each operator.",
    "missing-kernel": "A reference library has a kernel for each function.",
    "missing-glue": "An overload of ATen leads to each operator, by name or through a handwritten kernel.",
    "missing-form": "The planner of compiled graphs has the form that an operator is fused by.",
    "missing-known": "What operators lack for a known reason is counted; `diopigen check --missing` lists it.",
}

_WHAT = {
    "missing-cases": "cases",
    "missing-oracle": "an oracle",
    "missing-kernel": "a kernel",
    "missing-glue": "an overload of ATen",
    "missing-form": "a form",
}
_NO_OVERLOAD = "no entry names an overload of ATen for it"
_NO_LIBRARY = "no reference library is next to this spec"


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that functions of an operator lack. `reason` says why, where that is known."""

    rule: str
    functions: tuple[Function, ...]
    message: str
    fix: str
    reason: str | None
    notes: tuple[Note, ...] = ()
    position: Span | None = None

    @property
    def span(self) -> Span:
        return self.position or self.functions[0].span

    @property
    def severity(self) -> Severity:
        return Severity.NOTE if self.reason else Severity.WARNING


def report_gaps(
    interface: Interface, root: Path, renames: Mapping[str, str], sink: Sink, where: Span, *, each: bool
) -> None:
    """Reports what operators lack, in a tree with the folder `root` above the spec. `renames` are old names to new
    ones; `each` reports known gaps one by one, otherwise they are one note at `where`."""
    if not each and not libraries(root):
        return
    known: dict[str, set[str]] = {}
    for gap in gaps(interface, root, renames):
        if gap.severity is Severity.WARNING:
            sink.warning(gap.rule, gap.message, gap.span, fix=gap.fix, notes=gap.notes)
        elif each:
            sink.note(gap.rule, f"{gap.message}: {gap.reason}", gap.span, fix=gap.fix, notes=gap.notes)
        else:
            known.setdefault(gap.rule, set()).update(function.name for function in gap.functions)
    if known:
        counts = ", ".join(f"{len(known[rule])} without {_WHAT[rule]}" for rule in _WHAT if rule in known)
        message = f"functions that lack something for a known reason: {counts}"
        sink.note("missing-known", message, where, fix="`diopigen check --missing` lists them")


def gaps(interface: Interface, root: Path, renames: Mapping[str, str]) -> Iterator[Gap]:
    """All gaps, operator by operator. `Gap.severity` follows from the reason."""
    present = libraries(root)
    inventory = _Inventory(interface, root, present, {new: old for old, new in renames.items()})
    operators: dict[str, list[Function]] = {}
    for function in tested(interface):
        operators.setdefault(function.operator, []).append(function)
    for functions in operators.values():
        reason = interface.not_covered.get(functions[0].header) or (None if present else _NO_LIBRARY)
        yield from inventory.of(functions, reason)


class _Inventory:
    """Existing cases, oracles and kernels of the functions of an interface."""

    def __init__(self, interface: Interface, root: Path, present: Sequence[str], former: Mapping[str, str]) -> None:
        self._interface = interface
        self._former = former
        generated = {function.name for group in groups(interface.settled()) for function in group.functions}
        self._generated = generated
        self._kernels: Mapping[str, Mapping[Kernel, Span]] = {
            library: defined_kernels(root, library) for library in present
        }
        self._called = {name for kernel in interface.aten.handwritten for name in kernel.calls}
        self._has_glue = bool(interface.aten.schemas)
        self._forms = fused_forms(root)

    def of(self, functions: Sequence[Function], reason: str | None) -> Iterator[Gap]:
        """The gaps of the functions of one operator."""
        without = tuple(function for function in functions if not self._has_case(function))
        if without:
            fix = "write a recipe in 'cases' of the entry"
            yield Gap("missing-cases", without, f"no case calls {_names(without)}", fix, reason)
        without = tuple(function for function in functions if oracle_of(function) is None)
        if without:
            fix = "write one in diopigen/conformance/oracles, or a 'kernel' in the entry (docs/adding-an-operator.md)"
            message = f"no oracle knows the results of {_names(without)}"
            yield Gap("missing-oracle", without, message, fix, reason, self._former_oracle(without[0]))
        for library, kernels in self._kernels.items():
            without = tuple(function for function in functions if not self._has_kernel(function, kernels))
            if without:
                first = without[0]
                signature = f"{kernel_name(first)}(const {arguments_name(first)}&)"
                fix = f"define entry::{signature} in impl/{library}/functions"
                message = f"the {LIBRARIES[library]} library has no kernel for {_names(without)}"
                yield Gap("missing-kernel", without, message, fix, reason, self._former_kernel(first, kernels))
        for function in functions:
            yield from self._without_form(function, reason)
        if self._has_glue and not any(function.aten or function.short_name in self._called for function in functions):
            fix = "where PyTorch has such an overload, name it in 'aten'"
            message = f"PyTorch does not reach {_names(tuple(functions))}"
            yield Gap("missing-glue", tuple(functions), message, fix, _NO_OVERLOAD)

    def _without_form(self, function: Function, reason: str | None) -> Iterator[Gap]:
        for fused in function.fused:
            if self._forms is not None and fused.form not in self._forms:
                message = f"{function.name} is fused as '{fused.form}', which is no form of the planner"
                fix = did_you_mean(fused.form, self._forms) or f"write it in {FORMS_FILE}"
                yield Gap("missing-form", (function,), message, fix, reason, position=fused.span)

    def _has_case(self, function: Function) -> bool:
        resolver = Resolver(self._interface, function)
        recipes = recipe_cases(function, resolver, each_recipe(self._interface, function))
        cases = chain(recipes, axes.cases(function, resolver))
        return any(resolver.calls.admits(case.arguments) for case in cases)

    def _has_kernel(self, function: Function, kernels: Mapping[Kernel, Span]) -> bool:
        return function.name in self._generated or (kernel_name(function), arguments_name(function)) in kernels

    def _former_oracle(self, function: Function) -> tuple[Note, ...]:
        old = self._former.get(function.name, "").removeprefix("diopi")
        return (Note(f"there is an oracle for {old}, which may be its former name"),) if old in oracles() else ()

    def _former_kernel(self, function: Function, kernels: Mapping[Kernel, Span]) -> tuple[Note, ...]:
        old = self._former.get(function.name, "").removeprefix("diopi")
        found = [span for (_, arguments), span in kernels.items() if old and arguments == f"{old}Args"]
        return tuple(Note(f"the kernel of {old}, which may be its former name", span) for span in found)


def _names(functions: Sequence[Function]) -> str:
    names = [function.name for function in functions]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
