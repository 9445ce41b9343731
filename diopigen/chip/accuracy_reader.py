"""The entries `accuracy` of a chip's file, which the grammar has accepted, to declarations; faults with positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from diopigen.chip.accuracy import Declaration, elementary_calls, matters
from diopigen.config.grammar import is_operator
from diopigen.contract.dtypes import MANTISSA
from diopigen.diagnostics import Note, Sink, Span, did_you_mean
from diopigen.ir.model import Function, Interface
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode

RULES = {
    "chip-accuracy-function": "A function whose accuracy is declared is one of the interface that vendors implement.",
    "chip-accuracy-number": "An error in ULP is a number from 0.5, one correct rounding, to 2^40.",
    "chip-accuracy-empty": "An entry of `accuracy` declares something.",
    "chip-accuracy-idle": "What is declared changes the bound of a result.",
    "chip-accuracy-twice": "What is declared of a function, elementary function or class is declared once in a dtype.",
}

LARGEST_ULP = 2.0**40
_SUBJECTS = ("functions", "elementary", "classes")
_CLAIMS = ("ulp", "accumulate", "product_bits", "flush_denormals", "batch_invariant")


def read_accuracy(entries: Node | None, interface: Interface, sink: Sink) -> tuple[Declaration, ...]:
    """The declarations in the order of the file; those in error go to `sink`."""
    reader = _Reader(interface, sink)
    items = entries.items if isinstance(entries, SequenceNode) else ()
    return tuple(found for item in items if isinstance(item, MappingNode) and (found := reader.entry(item)))


class _Reader:
    def __init__(self, interface: Interface, sink: Sink) -> None:
        self.functions = {function.name: function for function in interface.functions if is_operator(function)}
        self.sink = sink
        self.first: dict[tuple[str, str, str], Span] = {}

    def entry(self, node: MappingNode) -> Declaration | None:
        """One entry; None where something is wrong with it."""
        before = len(self.sink)
        claims = {key: value for key in _CLAIMS if isinstance(value := node.get(key), ScalarNode)}
        if not claims:
            self._report("empty", "the entry declares nothing", node.span, f"add one of {', '.join(_CLAIMS)}")
            return None
        self._known(node.get("functions"))
        if "ulp" in claims:
            self._number(claims["ulp"])
        if len(self.sink) == before:
            self._idle(node, claims)
            self._once(node, claims)
        if len(self.sink) > before:
            return None
        values: dict[str, Any] = {key: claims[key].value for key in claims}
        if "ulp" in values:
            values["ulp"] = float(values["ulp"])
        names: dict[str, Any] = {
            key: tuple(str(one.value) for one in _scalars(node.get(key))) for key in (*_SUBJECTS, "dtypes")
        }
        return Declaration(**names, **values, span=Span(node.span.file, node.span.line))

    def _report(self, rule: str, message: str, span: Span, fix: str, notes: Iterable[Note] = ()) -> None:
        self.sink.error(f"chip-accuracy-{rule}", message, span, notes=list(notes), fix=fix)

    def _known(self, names: Node | None) -> None:
        for name in _scalars(names):
            if name.value not in self.functions:
                fix = did_you_mean(str(name.value), self.functions) or "`diopigen explain NAME` knows the functions"
                self._report("function", f"there is no operator '{name.value}'", name.span, fix)

    def _number(self, node: ScalarNode) -> None:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.5 <= value <= LARGEST_ULP:
            fix = "give a number of at least 0.5, the error of one correct rounding"
            self._report("number", f"an error cannot be {node.text} ULP", node.span, fix)

    # ---- what an entry changes ---------------------------------------------------------------------------------------

    def _idle(self, node: MappingNode, claims: dict[str, ScalarNode]) -> None:
        for key, claim in claims.items():
            for subject in self._subjects(node):
                if not any(self._changes(key, function, subject) for function in self._about(*subject)):
                    message = f"no result of {subject[1] or 'any function'} depends on '{key}'"
                    fix = "take it out, or name functions of another class: `diopigen explain NAME` shows the class"
                    self._report("idle", message, claim.span, fix)
        bits = claims.get("product_bits")
        dtypes = [str(one.value) for one in _scalars(node.get("dtypes"))] or list(MANTISSA)
        if bits is not None and isinstance(bits.value, int) and bits.value >= max(MANTISSA[one] for one in dtypes):
            message = f"operands have no more than {max(MANTISSA[one] for one in dtypes)} bits, so that none is rounded"
            self._report("idle", message, bits.span, "give fewer bits, or take it out")

    def _subjects(self, node: MappingNode) -> list[tuple[str, str]]:
        """Scope of an entry: kind and name, an empty name for all results."""
        named = [(kind, str(one.value)) for kind in _SUBJECTS for one in _scalars(node.get(kind))]
        return named or [("all", "")]

    def _about(self, kind: str, name: str) -> Iterator[Function]:
        for function in self.functions.values():
            if kind == "functions" and function.name != name:
                continue
            if kind == "classes" and function.tolerance != name:
                continue
            if kind != "elementary" or elementary_calls(function)[name]:
                yield function

    def _changes(self, key: str, function: Function, subject: tuple[str, str]) -> bool:
        if subject[0] == "elementary" and key != "ulp":
            return False
        return matters(key, function.tolerance)

    def _once(self, node: MappingNode, claims: dict[str, ScalarNode]) -> None:
        dtypes = [str(one.value) for one in _scalars(node.get("dtypes"))] or list(MANTISSA)
        for kind, name in self._subjects(node):
            for key, claim in claims.items():
                slots = [(f"{kind} {name}", key, dtype) for dtype in dtypes]
                twice = [self.first[slot] for slot in slots if slot in self.first]
                if twice:
                    message = f"'{key}' of {name or 'all results'} is declared twice"
                    self._report("twice", message, claim.span, "keep one", [Note("first here", twice[0])])
                for slot in slots:
                    self.first.setdefault(slot, claim.span)


def _scalars(node: Node | None) -> list[ScalarNode]:
    return [one for one in node.items if isinstance(one, ScalarNode)] if isinstance(node, SequenceNode) else []
