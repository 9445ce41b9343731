"""Coverage of a vendor's tree: implementation of each operator, models that run, and operators worth writing next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diopigen.config.model import FunctionRule
from diopigen.emit.operands import is_operator
from diopigen.ir.model import Interface
from diopigen.ir.models import Model
from diopigen.vendor.fallbacks import Fallback

STATES: Mapping[str, str] = {
    "native": "a kernel of the vendor, called as it is",
    "shim": "a kernel of the vendor, behind conversions of dtype or layout",
    "fallback": "the reference library, through host memory",
    "missing": "none: the interface lacks what a model calls, or the vendor a collective",
}
"""Implementations of an operator, the best first."""


@dataclass(frozen=True, slots=True)
class FunctionCoverage:
    """One function. `skeleton`: there is a definition, but it does nothing yet."""

    name: str
    family: str
    state: str
    skeleton: bool


@dataclass(frozen=True, slots=True)
class ModelCoverage:
    """One model: calls by state, the functions without a kernel, and ATen calls that no function is for."""

    name: str
    doc: str
    calls: Mapping[str, int]
    blocked: tuple[str, ...]
    slowed: tuple[str, ...]
    unmapped: tuple[str, ...]

    @property
    def on_device(self) -> float:
        """The fraction of the calls that kernels of the vendor serve."""
        return (self.calls.get("native", 0) + self.calls.get("shim", 0)) / max(sum(self.calls.values()), 1)

    @property
    def verdict(self) -> str:
        """In a few words, whether the model runs."""
        if self.blocked:
            return "blocked"
        return "runs, in part on the host" if self.slowed else "runs on the device"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An operator worth writing: models that call it without a kernel, and its share of all their calls."""

    function: str
    state: str
    models: tuple[str, ...]
    fraction: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """The whole report. `fallbacks` are calls that a program recorded."""

    vendor: str
    functions: tuple[FunctionCoverage, ...]
    models: tuple[ModelCoverage, ...]
    suggestions: tuple[Suggestion, ...]
    fallbacks: tuple[Fallback, ...] = ()

    def count(self, state: str) -> int:
        """Functions in a state."""
        return sum(function.state == state for function in self.functions)

    def state(self, name: str) -> str:
        """That of a function; "" for what is none."""
        return next((function.state for function in self.functions if function.name == name), "")

    def families(self) -> Mapping[str, Counter[str]]:
        """Functions by family and state."""
        found: dict[str, Counter[str]] = {}
        for function in self.functions:
            found.setdefault(function.family, Counter())[function.state] += 1
        return found

    def as_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "vendor": self.vendor,
            "counts": {state: self.count(state) for state in STATES},
            "functions": [
                {"name": f.name, "family": f.family, "state": f.state, "skeleton": f.skeleton} for f in self.functions
            ],
            "models": [
                {
                    "name": model.name,
                    "verdict": model.verdict,
                    "calls": dict(model.calls),
                    "blocked": list(model.blocked),
                    "on the host": list(model.slowed),
                    "without a function": list(model.unmapped),
                }
                for model in self.models
            ],
            "next": [
                {"function": s.function, "state": s.state, "models": list(s.models), "share": round(s.fraction, 4)}
                for s in self.suggestions
            ],
            "fallbacks": [
                {
                    "function": one.function,
                    "overload": one.overload,
                    "state": self.state(one.function),
                    "status": one.status,
                    "reason": one.why,
                    "calls": one.calls,
                }
                for one in self.fallbacks
            ],
        }


def cover(
    interface: Interface,
    vendor: str,
    implemented: Collection[str],
    skeletons: Collection[str],
    rules: Mapping[str, FunctionRule],
    models: Sequence[Model],
    fallbacks: Sequence[Fallback] = (),
) -> Coverage:
    """The coverage of a vendor that defines `implemented`, of which `skeletons` do nothing yet, under the conversion
    rules of its configuration."""
    written = frozenset(implemented) - frozenset(skeletons)
    functions = []
    for function in interface.functions:
        if not (is_operator(function) or function.is_collective):
            continue
        rule = rules.get(function.name)
        if function.name in written:
            state = "shim" if rule is not None and rule.converts else "native"
        elif function.is_collective:
            state = "missing"
        else:
            state = "fallback"  # the reference library has every operator
        functions.append(FunctionCoverage(function.name, function.family, state, function.name in skeletons))
    states = {function.name: function.state for function in functions}
    covered = tuple(_model(model, states) for model in models)
    return Coverage(vendor, tuple(functions), covered, _suggestions(models, states), tuple(fallbacks))


def _model(model: Model, states: Mapping[str, str]) -> ModelCoverage:
    calls: Counter[str] = Counter()
    by_state: dict[str, list[str]] = {}
    for name, phases in model.functions().items():
        state = states.get(name, "missing")
        calls[state] += sum(phases.values())
        by_state.setdefault(state, []).append(name)
    ordered = {state: calls[state] for state in STATES if calls[state]}
    unmapped = tuple(dict.fromkeys(leftover.aten for leftover in model.unmapped))
    blocked, slowed = by_state.get("missing", []), by_state.get("fallback", [])
    return ModelCoverage(model.name, model.doc, ordered, tuple(blocked), tuple(slowed), unmapped)


def _suggestions(models: Iterable[Model], states: Mapping[str, str]) -> tuple[Suggestion, ...]:
    """Operators without a kernel by their share of the calls of a model, summed over models."""
    fractions: dict[str, float] = {}
    users: dict[str, list[str]] = {}
    count = 0
    for model in models:
        count += 1
        calls = {name: sum(phases.values()) for name, phases in model.functions().items()}
        total = sum(calls.values())
        for name, number in calls.items():
            if states.get(name, "missing") in ("fallback", "missing"):
                fractions[name] = fractions.get(name, 0.0) + number / total
                users.setdefault(name, []).append(model.name)
    order = sorted(fractions, key=lambda name: (-fractions[name], name))
    return tuple(
        Suggestion(name, states.get(name, "missing"), tuple(users[name]), fractions[name] / count) for name in order
    )
