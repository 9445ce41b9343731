"""The keys of a parameter that say which values are legal (`dim_of`, `range`, `length`, `rank`), as constraints.

Every other room sees the constraints alone: predicate, id (`dim.range`), note and error. The key stays with them for
those that derive calls that violate it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from diopigen.diagnostics import Sink
from diopigen.ir.clauses import Formula, Key
from diopigen.ir.model import Constraint, Function, Parameter
from diopigen.ir.types import INTEGERS, NUMBERS
from diopigen.spec.expression import (
    Binary,
    Call,
    Expression,
    ExpressionError,
    Name,
    Number,
    Unary,
    parse,
    to_text,
)
from diopigen.spec.interval import INFINITY, Interval, is_interval, parse_interval
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode

ERROR = "diopiErrorOccurred"
"""The status that a violation of a key returns. Another status needs a constraint."""

ANY = "any"
"""The `range` of an integer every value of which is legal: it makes no constraint."""

KEY_TYPES: Mapping[str, frozenset[str]] = {
    "rank": frozenset({"tensor", "tensors"}),
    "length": frozenset({"sizes"}),
    "range": NUMBERS | {"scalar", "sizes"},
    "dim_of": INTEGERS | {"sizes"},
}
"""The types of parameters that each key may be on. Ranks and lengths come first: what follows relies on them."""
DIMENSIONED = frozenset({"tensor", "tensors", "sizes"})
"""The types of parameters that `dim_of` may name."""


def read_keys(parameter: str, node: MappingNode, sink: Sink) -> tuple[Key, ...]:
    """The keys of a parameter that can be read; the others are reported."""
    found = []
    for name in KEY_TYPES:
        value = node.get(name)
        form = _form(name, value, sink) if value is not None else None
        if value is not None and form is not None:
            text = value.text if isinstance(value, ScalarNode) else ""
            found.append(Key(parameter, name, form, text, value.span))
    return tuple(found)


def _form(name: str, node: Node, sink: Sink) -> str | Interval | Expression | tuple[int, ...] | None:
    if isinstance(node, SequenceNode):
        return tuple(i.value for i in node.items if isinstance(i, ScalarNode) and isinstance(i.value, int))
    if not isinstance(node, ScalarNode):
        return None
    if isinstance(node.value, int):
        return (node.value,)
    if name == "dim_of":
        return node.text
    if name == "range" and node.text == ANY:
        return Interval(Unary("-", INFINITY), INFINITY, True, True)
    try:
        return parse_interval(node.text) if name == "range" or is_interval(node.text) else parse(node.text)
    except ExpressionError as error:
        fix = "write an interval such as '[0, 1)': see the keys of a parameter in docs/spec.md"
        location = node.inner(error.offset, error.length)
        sink.error("expression-syntax", f"{error.message} in '{node.text}'", location, fix=fix)
        return None


def key_constraints(params: tuple[Parameter, ...]) -> tuple[Constraint, ...]:
    """The constraints that follow from the keys of parameters; a key on a parameter of another kind makes none."""
    types = {param.name: param.type for param in params}
    return tuple(
        Constraint(
            id=f"{param.name}.{key.name}",
            note=_Words(param, key, types).note(),
            error=ERROR,
            span=key.span,
            # The text is the key's, in which the ends of an interval have their places.
            require=Formula(predicate, key.text, key.span),
            key=key,
        )
        for param in params
        for key in param.keys
        if (predicate := _predicate(param, key, types)) is not None
    )


def written(function: Function) -> tuple[Constraint, ...]:
    """The constraints that are in the spec as such."""
    return tuple(constraint for constraint in function.constraints if constraint.key is None)


# ---- predicates -----------------------------------------------------------------------------------------------------


def measured(param: Parameter, key: Key) -> Expression:
    """Quantity that the key bounds: the number of dimensions or of entries, or the value itself."""
    own = Name(param.name)
    if key.name == "rank":
        return Call("rank" if param.type == "tensor" else "ranks", (own,))
    return Call("len", (own,)) if key.name == "length" else own


def bounds(param: Parameter, key: Key, types: Mapping[str, str]) -> Interval | None:
    """The interval that a key stands for; None for a list of numbers, and for one expression."""
    if isinstance(key.form, str):
        target = Name(key.form)
        of_parts = Call("ranks" if types[key.form] == "tensors" else "rank", (target,))
        count = Call("max", (Call("len", (target,)) if types[key.form] == "sizes" else of_parts, Number(1)))
        return Interval(Unary("-", count), count, True, False)
    return key.form if isinstance(key.form, Interval) else None


def _predicate(param: Parameter, key: Key, types: Mapping[str, str]) -> Expression | None:
    if param.type not in KEY_TYPES[key.name] or (isinstance(key.form, str) and types.get(key.form) not in DIMENSIONED):
        return None
    value = measured(param, key)
    interval = bounds(param, key, types)
    if interval is not None:
        parts = list(_comparisons(value, _counted(key, interval), is_real=_is_real(param, key)))
        if not parts:
            return None
        found = parts[0] if len(parts) == 1 else Binary("and", parts[0], parts[1])
    elif isinstance(key.form, tuple):
        numbers = tuple(map(Number, key.form))
        found = Binary("==", value, numbers[0]) if len(numbers) == 1 else Call("one_of", (value, *numbers))
    else:
        assert not isinstance(key.form, (str, Interval))
        found = Binary("==", value, key.form)
    return Call("all", (found,)) if _has_entries(param, key) else found


def _counted(key: Key, interval: Interval) -> Interval:
    """The interval without a low end that every count has."""
    if key.name in ("rank", "length") and interval.low == Number(0) and interval.has_low:
        return replace(interval, low=Unary("-", INFINITY), has_low=False)
    return interval


def _comparisons(value: Expression, interval: Interval, *, is_real: bool) -> Iterator[Expression]:
    """Predicates of the ends: `0 <= p` and `p < 1`, a low end alone `p >= 0`. An infinite end bounds nothing, but for a
    real number where it is not in the interval itself."""
    is_below = not interval.is_open_above or (is_real and not interval.has_high)
    if not interval.is_open_below or (is_real and not interval.has_low):
        if is_below:
            yield Binary("<=" if interval.has_low else "<", interval.low, value)
        else:
            yield Binary(">=" if interval.has_low else ">", value, interval.low)
    if is_below:
        yield Binary("<=" if interval.has_high else "<", value, interval.high)


def _is_real(param: Parameter, key: Key) -> bool:
    return key.name == "range" and param.type in ("float", "double", "scalar")


def _has_entries(param: Parameter, key: Key) -> bool:
    """Returns whether a key bounds each of several: the entries of a list, the tensors of an array."""
    return param.type == "tensors" or (param.type == "sizes" and key.name != "length")


# ---- notes ----------------------------------------------------------------------------------------------------------


class _Words:
    """Describes a key."""

    def __init__(self, param: Parameter, key: Key, types: Mapping[str, str]) -> None:
        self.param, self.key, self.types = param, key, types

    def note(self) -> str:
        key = self.key
        if isinstance(key.form, str):
            return f"{self._subject()} is in {self._dimensions(key.form)}"
        if key.name == "range":
            assert isinstance(key.form, Interval)
            return f"{self._subject()} is {' and '.join(self._ends(key.form))}"
        unit = ("dimension", "dimensions") if key.name == "rank" else ("entry", "entries")
        return f"{self._subject()} has {self._count(unit)}"

    def _subject(self) -> str:
        param = self.param
        if param.type == "tensors":
            return f"each of {param.name}"
        if _has_entries(param, self.key):
            return f"every entry of {param.name}"
        return f"{param.name}, where given," if param.nullable else param.name

    def _dimensions(self, target: str) -> str:
        if self.types.get(target) == "sizes":
            return f"[-len({target}), len({target}) - 1], empty sizes counting as one"
        if self.types.get(target) == "tensors":
            return f"[-rank, rank - 1] of {target}"
        return f"[-rank({target}), rank({target}) - 1], a 0-d {target} counting as 1-d"

    def _ends(self, interval: Interval) -> Iterator[str]:
        is_real = _is_real(self.param, self.key)
        if not interval.is_open_below:
            yield f"{'at least' if interval.has_low else 'above'} {to_text(interval.low)}"
        elif is_real and not interval.has_low:
            yield "above -inf"
        if not interval.is_open_above:
            yield f"{'at most' if interval.has_high else 'below'} {to_text(interval.high)}"
        elif is_real and not interval.has_high:
            yield "below inf"

    def _count(self, unit: tuple[str, str]) -> str:
        form = self.key.form
        if isinstance(form, Interval):
            words = " and ".join(self._ends(_counted(self.key, form)))
            return f"{words} {unit[1]}" if not words.endswith(" 1") else f"{words} {unit[0]}"
        if isinstance(form, tuple):
            *first, last = map(str, form)
            return f"{', '.join(first)}{' or ' if first else ''}{last} {unit[0] if form == (1,) else unit[1]}"
        assert not isinstance(form, str)
        return f"{to_text(form)} {unit[1]}"
