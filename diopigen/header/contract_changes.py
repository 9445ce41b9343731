"""Changes of contracts in a new version of the spec: dtypes, shapes, ranges, constraints, values.

A contract has two sides. Callers may pass what it accepts and rely on what it promises; implementers must accept and
compute that. Calls that were legal and are not any more break callers (errors), other results of the same call break
both (errors), what only implementers must follow is a warning, and a contract that accepts more widens (notes).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass

from diopigen.diagnostics import Note, Sink, Span
from diopigen.header.breaking import breaking_changes
from diopigen.header.check import Version
from diopigen.header.rules import ERROR, NOTE, WARNING, Reporter, Rule, Rules
from diopigen.ir.clauses import Default, Key
from diopigen.ir.model import Constraint, Dtype, DtypeList, Function, Interface, Parameter, Shape, ShapeList
from diopigen.spec.expression import to_text
from diopigen.spec.interval import Interval, constant

RULES: Rules = {
    # Calls that were legal, or results that were relied on, are not there any more.
    "contract-dtypes-narrowed": Rule(ERROR, "breaks callers: a parameter has dtypes less"),
    "contract-dtype-changed": Rule(ERROR, "breaks callers and implementers: a dtype follows from another rule"),
    "contract-shape-narrowed": Rule(ERROR, "breaks callers: an operand of any shape has a form now"),
    "contract-shape-changed": Rule(ERROR, "breaks callers and implementers: a shape is another one"),
    "contract-direction-changed": Rule(ERROR, "breaks callers and implementers: what is read or written"),
    "contract-null-rejected": Rule(ERROR, "breaks callers: a parameter may not be null any more"),
    "contract-values-narrowed": Rule(ERROR, "breaks callers: a number or word that was legal is not"),
    "contract-constraint-added": Rule(ERROR, "breaks callers: a call must satisfy a condition more"),
    "contract-constraint-changed": Rule(ERROR, "breaks callers: a condition or its status is another one"),
    "contract-kernel-changed": Rule(ERROR, "breaks callers and implementers: results are others"),
    # Sources that pass arguments by name, and libraries that meet the old bound.
    "contract-default-changed": Rule(WARNING, "breaks callers that leave an argument out: its default is another one"),
    "contract-bound-changed": Rule(WARNING, "breaks implementers: results are held to another tolerance"),
    # More is accepted: old callers go on, and a library has to follow.
    "contract-dtypes-widened": Rule(NOTE, "widens: a parameter has dtypes more"),
    "contract-shape-widened": Rule(NOTE, "widens: an operand may have any shape"),
    "contract-null-accepted": Rule(NOTE, "widens: a parameter may be null"),
    "contract-values-widened": Rule(NOTE, "widens: numbers or words are legal that were not"),
    "contract-constraint-removed": Rule(NOTE, "widens: a condition is gone"),
    "contract-meaning-reworded": Rule(NOTE, "a description has other words: read whether the meaning is the same"),
}


def version_changes(old: Version, new: Version, sink: Sink) -> None:
    """Reports what breaks from one version to the next: in declarations, and between two specs in contracts."""
    breaking_changes(old.declared, new.declared, sink)
    if old.spec is not None and new.spec is not None:
        contract_changes(old.spec, new.spec, sink)


def contract_changes(old: Interface, new: Interface, sink: Sink) -> None:
    """Reports what changed in the contracts of functions that both have, with spans in `new`."""
    before = {function.name: function for function in old.functions}
    report = Reporter(RULES, sink)
    for function in new.functions:
        if function.name in before:
            _Contract(before[function.name], function, report).compare()


class _Contract:
    """The contract of one function, before and after."""

    def __init__(self, old: Function, new: Function, report: Reporter) -> None:
        self._old = old
        self._new = new
        self._report = report

    def compare(self) -> None:
        for param in self._new.params:
            was = self._old.param(param.name)
            if was is not None and param.name:
                self._parameter(was, param)
        self._constraints()
        self._values()
        if _words(self._old.doc) != _words(self._new.doc):
            message = f"'{self._new.name}' is described in other words"
            self._found("contract-meaning-reworded", message, self._new.at("doc"), self._old.at("doc"))

    def _parameter(self, old: Parameter, new: Parameter) -> None:
        if old.direction != new.direction and old.direction and new.direction:
            message = f"was '{old.direction}' and is '{new.direction}' now"
            self._about("contract-direction-changed", message, old, new, "direction")
        self._dtype(old, new)
        self._shape(old, new)
        if old.nullable and not new.nullable:
            self._about("contract-null-rejected", "may not be null any more", old, new, "nullable")
        elif new.nullable and not old.nullable:
            self._about("contract-null-accepted", "may be null now", old, new, "nullable")
        self._numbers(old, new)
        gone, more = _without(old.values, new.values), _without(new.values, old.values)
        if old.values and (gone or not new.values):
            self._about("contract-values-narrowed", f"does not take {_listed(gone)} any more", old, new, "values")
        if new.values and old.values and more:
            self._about("contract-values-widened", f"takes {_listed(more)} as well", old, new, "values")
        was, now = _default(old.default), _default(new.default)
        if was != now:
            message = f"has the default {now or 'no more'}, and had {was or 'none'}"
            self._about("contract-default-changed", message, old, new, "default")
        if _words(old.doc) != _words(new.doc):
            self._about("contract-meaning-reworded", "is described in other words", old, new, "doc")

    def _dtype(self, old: Parameter, new: Parameter) -> None:
        if old.dtype is None or new.dtype is None:
            return
        if isinstance(old.dtype, DtypeList) and isinstance(new.dtype, DtypeList):
            gone = _without(old.dtype.dtypes, new.dtype.dtypes)
            more = _without(new.dtype.dtypes, old.dtype.dtypes)
            if gone:
                self._about("contract-dtypes-narrowed", f"does not have {_listed(gone)} any more", old, new, "dtype")
            if more:
                self._about("contract-dtypes-widened", f"has {_listed(more)} as well", old, new, "dtype")
        elif _dtype_text(old.dtype) != _dtype_text(new.dtype):
            message = f"has the dtype {_dtype_text(new.dtype)}, and had {_dtype_text(old.dtype)}"
            self._about("contract-dtype-changed", message, old, new, "dtype")

    def _shape(self, old: Parameter, new: Parameter) -> None:
        if old.shape is None or new.shape is None:
            return
        was, now = _shape_text(old.shape), _shape_text(new.shape)
        if was == now:
            return
        rule = "contract-shape-changed"
        if not new.is_written and was == "any":
            rule = "contract-shape-narrowed"
        elif not new.is_written and now == "any":
            rule = "contract-shape-widened"
        self._about(rule, f"has the shape {now}, and had {was}", old, new, "shape")

    def _numbers(self, old: Parameter, new: Parameter) -> None:
        """The keys that say which numbers are legal: `range`, `dim_of`, `length`, `rank`."""
        before, after = ({key.name: key for key in param.keys} for param in (old, new))
        for name in dict.fromkeys([*before, *after]):
            was, now = before.get(name), after.get(name)
            if was is None and now is not None:
                self._about("contract-values-narrowed", f"must satisfy {name} {now.text} now", old, new, name)
            elif now is None and was is not None:
                self._about("contract-values-widened", f"need not satisfy {name} {was.text} any more", old, new, name)
            elif was is not None and now is not None and _text(was.form) != _text(now.form):
                rule = "contract-values-widened" if _holds(now, was) else "contract-values-narrowed"
                self._about(rule, f"has {name} {now.text}, and had {was.text}", old, new, name)

    def _constraints(self) -> None:
        before = {one.text: one for one in self._old.constraints if one.key is None}
        after = {one.text: one for one in self._new.constraints if one.key is None}
        known = {one.id: one for one in before.values()}
        name = self._new.name
        for text, one in after.items():
            same = before.get(text)
            if same is not None and (same.error, _text(same.require)) == (one.error, _text(one.require)):
                continue
            was = same or known.get(one.id)
            if was is not None and (same is not None or was.text not in after):
                demands = f"demands {_demand(one)}, and demanded {_demand(was)}"
                message = f"'{name}': {one.id} {demands}"
                self._found("contract-constraint-changed", message, one.span, was.span)
            else:
                message = f"'{name}': {one.id} is new: {_demand(one)}"
                self._found("contract-constraint-added", message, one.span, self._old.span)
        replaced = {one.id for text, one in after.items() if text not in before}
        for text, one in before.items():
            if text not in after and one.id not in replaced:
                message = f"'{name}': {one.id} is gone: {text}"
                self._found("contract-constraint-removed", message, self._new.span, one.span)

    def _values(self) -> None:
        name = self._new.name
        was, now = self._old.kernel, self._new.kernel
        if was is not None and now is not None and _text(was) != _text(now):
            message = f"'{name}' is computed by another expression"
            self._found("contract-kernel-changed", message, now.span, was.span)
        if self._old.tolerance != self._new.tolerance:
            classes = [one.tolerance or "default" for one in (self._new, self._old)]
            message = f"'{name}' is of the tolerance class {classes[0]}, and was of {classes[1]}"
            self._found("contract-bound-changed", message, self._new.at("tolerance"), self._old.at("tolerance"))

    def _about(self, rule: str, message: str, old: Parameter, new: Parameter, key: str) -> None:
        self._found(rule, f"'{self._new.name}': parameter '{new.name}' {message}", new.at(key), old.at(key))

    def _found(self, rule: str, message: str, span: Span, was: Span) -> None:
        self._report(rule, message, span, notes=[Note("it was here", was)])


def _without(one: Iterable[str], other: Iterable[str]) -> list[str]:
    rest = set(other)
    return [each for each in one if each not in rest]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "any word"


def _demand(constraint: Constraint) -> str:
    return f"'{constraint.text}' ({constraint.error})"


def _words(text: str) -> str:
    return " ".join(text.split())


def _default(default: Default | None) -> str:
    return "" if default is None else repr(default.value)


def _dtype_text(dtype: Dtype) -> str:
    if isinstance(dtype, DtypeList):
        return f"[{', '.join(dtype.dtypes)}]"
    return to_text(dtype.formula.expression)


def _shape_text(shape: Shape) -> str:
    if isinstance(shape, ShapeList):
        return f"[{', '.join(dimension.formula.text.strip() for dimension in shape.dimensions)}]"
    return shape.formula.text.strip()


def _holds(wide: Key, narrow: Key) -> bool:
    """Returns whether all numbers of one key are numbers of another, as far as their ends are numbers."""
    if not isinstance(wide.form, Interval) or not isinstance(narrow.form, Interval):
        return isinstance(wide.form, tuple) and isinstance(narrow.form, tuple) and set(narrow.form) <= set(wide.form)
    ends = [constant(end) for one in (wide.form, narrow.form) for end in (one.low, one.high)]
    same_low, same_high = wide.form.low == narrow.form.low, wide.form.high == narrow.form.high
    low = same_low or (ends[0] is not None and ends[2] is not None and ends[0] < ends[2])
    high = same_high or (ends[1] is not None and ends[3] is not None and ends[1] > ends[3])
    closed_low = not same_low or wide.form.has_low or not narrow.form.has_low
    closed_high = not same_high or wide.form.has_high or not narrow.form.has_high
    return low and high and closed_low and closed_high


def _text(value: object) -> object:
    """A value of the spec without its spans and spellings, to be compared."""
    if isinstance(value, tuple):
        return tuple(map(_text, value))
    if hasattr(value, "expression"):
        return repr(value.expression)
    if isinstance(value, Interval) or not is_dataclass(value):
        return str(value)
    return tuple((one.name, _text(getattr(value, one.name))) for one in fields(value) if "span" not in one.name)
