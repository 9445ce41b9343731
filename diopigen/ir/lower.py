"""Validated YAML nodes to IR values. What cannot be built is reported; whether it makes sense is left to `check/`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.ir.aten_model import FusedOverload, Overload
from diopigen.ir.clauses import Default, Elements, Formula, InPlace, OpenOrder, OpenTies
from diopigen.ir.keys import read_keys
from diopigen.ir.model import (
    Case,
    Constraint,
    Dimension,
    Dtype,
    DtypeList,
    DtypeRule,
    Kernel,
    Latitude,
    Parameter,
    Shape,
    ShapeList,
    ShapeRule,
)
from diopigen.spec.expression import Call, ExpressionError, Name, parse
from diopigen.spec.grammar_operators import OPERATIONS
from diopigen.spec.nodes import Entry, MappingNode, Node, Scalar, ScalarNode, SequenceNode


def text_of(node: Node | None) -> str:
    """The text of a scalar that the grammar has accepted as a text; empty where there is none."""
    return str(node.value) if isinstance(node, ScalarNode) and node.value is not None else ""


def optional_text(node: Node | None) -> str | None:
    """As `text_of`, but None where there is none."""
    return text_of(node) if node is not None else None


def flag_of(node: Node | None, default: bool = False) -> bool:
    """The value of a boolean that the grammar has accepted."""
    return bool(node.value) if isinstance(node, ScalarNode) else default


def items_of(node: Node | None) -> tuple[Node, ...]:
    """The items of a list; empty where there is none."""
    return node.items if isinstance(node, SequenceNode) else ()


def mappings_of(node: Node | None) -> Iterable[MappingNode]:
    """The mappings of a list that the grammar has accepted as a list of mappings."""
    return (item for item in items_of(node) if isinstance(item, MappingNode))


def key_spans(node: MappingNode) -> dict[str, Span]:
    """Position of the value of each key."""
    return {key: entry.value.span for key, entry in node.entries.items()}


def lower_formula(node: ScalarNode, sink: Sink) -> Formula | None:
    """The expression in a scalar, or None where it does not parse (reported as `expression-syntax`)."""
    text = node.text
    try:
        return Formula(parse(text), text, node.span, node.plain)
    except ExpressionError as error:
        span = node.inner(error.offset, error.length)
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        sink.error(
            "expression-syntax", f"{error.message} in '{shown}'", span, fix="see the expressions in docs/spec.md"
        )
        return None


class Lowering:
    """Turns parameters, kernels, constraints and cases into IR, with the dtypes of the spec at hand."""

    def __init__(self, dtypes: Iterable[str], sets: Mapping[str, tuple[str, ...]], sink: Sink) -> None:
        self.order = {name: position for position, name in enumerate(dtypes)}
        self.sets = sets
        self.sink = sink
        self._lists: dict[tuple[str, ...], tuple[str, ...]] = {}

    def parameter(self, node: MappingNode) -> Parameter:
        """A parameter. The direction of a type that has only one is filled in; a missing one stays empty."""
        get = node.get
        type_name = text_of(get("type"))
        count = get("count")
        default, example = get("default"), get("example")
        domain, typical = get("domain"), get("typical")
        return Parameter(
            name=text_of(get("name")),
            type=type_name,
            direction=text_of(get("direction")),
            doc=text_of(get("doc")),
            span=(get("name") or node).span,
            dtype=self.dtype(get("dtype")),
            shape=self.shape(get("shape")),
            nullable=flag_of(get("nullable")),
            free=tuple(text_of(item) for item in items_of(get("free"))),
            count=count.value if isinstance(count, ScalarNode) and isinstance(count.value, (str, int)) else None,
            default=None if default is None else Default(_default_value(default), default.span),
            example=None if example is None else Default(_default_value(example), example.span),
            values=tuple(text_of(item) for item in items_of(get("values"))),
            const=flag_of(get("const")),
            mutable=flag_of(get("mutable")),
            pointer=flag_of(get("pointer")),
            unnamed=flag_of(get("unnamed")),
            c_type=text_of(get("c_type")),
            sparse=flag_of(get("sparse")),
            shares=text_of(get("shares")),
            unordered=self._unordered(get("unordered")),
            ties=self._ties(get("ties")),
            keys=read_keys(text_of(get("name")), node, self.sink),
            domain=lower_formula(domain, self.sink) if isinstance(domain, ScalarNode) else None,
            typical=lower_formula(typical, self.sink) if isinstance(typical, ScalarNode) else None,
            elements=self._elements(node),
            spans=key_spans(node),
        )

    def _elements(self, node: MappingNode) -> Elements | None:
        """Content of a buffer; None if the number of its elements is unknown."""
        count, on, in_place = node.get("elements"), node.get("on"), node.get("in_place")
        number = lower_formula(count, self.sink) if isinstance(count, ScalarNode) else None
        if number is None:
            return None
        location = None
        if isinstance(in_place, MappingNode):
            offset = in_place.get("offset")
            start = lower_formula(offset, self.sink) if isinstance(offset, ScalarNode) else None
            location = None if start is None else InPlace(text_of(in_place.get("buffer")), start, in_place.span)
        ranks = lower_formula(on, self.sink) if isinstance(on, ScalarNode) else None
        return Elements(number, text_of(node.get("of")), ranks, location)

    def _unordered(self, node: Node | None) -> OpenOrder | None:
        where = node.get("where") if isinstance(node, MappingNode) else None
        along = node.get("along") if isinstance(node, MappingNode) else None
        if node is None or not isinstance(where, ScalarNode) or not isinstance(along, ScalarNode):
            return None
        formula = lower_formula(where, self.sink)
        dimension = along.value if isinstance(along.value, int) else along.text
        return None if formula is None else OpenOrder(formula, dimension, node.span, along.span)

    def _ties(self, node: Node | None) -> OpenTies | None:
        where = node.get("where") if isinstance(node, MappingNode) else None
        if not isinstance(node, MappingNode) or not isinstance(where, ScalarNode):
            return None
        formula = lower_formula(where, self.sink)
        of, along = node.get("of"), node.get("along")
        value = along.value if isinstance(along, ScalarNode) else None
        dimension = value if isinstance(value, int) else text_of(along)
        if formula is None:
            return None
        spans = (node.span if of is None else of.span, node.span if along is None else along.span)
        return OpenTies(formula, text_of(of), dimension, node.span, *spans)

    def dtype(self, node: Node | None) -> Dtype | None:
        """A dtype list or rule. A single word that is a dtype or a set counts as a list of one."""
        if node is None:
            return None
        if isinstance(node, SequenceNode):
            words = [item for item in node.items if isinstance(item, ScalarNode)]
            return self._dtype_list(words, node.span)
        if not isinstance(node, ScalarNode):
            return None
        formula = lower_formula(node, self.sink)
        if formula is None:
            return None
        if isinstance(formula.expression, Name):
            return self._dtype_list([node], node.span)
        return DtypeRule(formula)

    def _dtype_list(self, words: list[ScalarNode], span: Span) -> DtypeList | None:
        good = True
        for word in words:
            if word.text not in self.order and word.text not in self.sets:
                fix = did_you_mean(word.text, [*self.order, *self.sets]) or "see specs/types.yaml for dtypes and sets"
                self.sink.error("unknown-dtype", f"unknown dtype '{word.text}'", word.span, fix=fix)
                good = False
        if not good:
            return None
        names = tuple(word.text for word in words)
        if names not in self._lists:
            found = {dtype for name in names for dtype in self.sets.get(name, (name,))}
            self._lists[names] = tuple(sorted(found, key=self.order.__getitem__))
        return DtypeList(names, self._lists[names], span)

    def shape(self, node: Node | None) -> Shape | None:
        """A shape rule or a list of dimensions."""
        if isinstance(node, ScalarNode):
            formula = lower_formula(node, self.sink)
            if formula is None:
                return None
            if isinstance(formula.expression, Name) and formula.expression.name == "any":
                formula = Formula(Call("any", ()), formula.text, formula.span, formula.plain)
            return ShapeRule(formula)
        if not isinstance(node, SequenceNode):
            return None
        dimensions = [self._dimension(item) for item in node.items if isinstance(item, ScalarNode)]
        if any(dimension is None for dimension in dimensions):
            return None
        return ShapeList(tuple(dimension for dimension in dimensions if dimension is not None), node.span)

    def _dimension(self, node: ScalarNode) -> Dimension | None:
        text = node.text
        if text == "?":
            return Dimension("unknown", Formula(Name("?"), text, node.span, node.plain))
        if text.startswith("*") and text[1:].isidentifier():
            return Dimension("variadic", Formula(Name(text[1:], 1), text, node.span, node.plain), text[1:])
        formula = lower_formula(node, self.sink)
        if formula is None:
            return None
        name = formula.expression.name if isinstance(formula.expression, Name) else ""
        return Dimension("formula", formula, name)

    def kernel(self, node: Node | None, params: Iterable[Parameter]) -> Kernel | None:
        """A kernel; a single expression belongs to the first parameter that is written."""
        if isinstance(node, ScalarNode):
            formula = lower_formula(node, self.sink)
            target = next((param.name for param in params if param.is_written), None)
            if formula is None:
                return None
            if target is None:
                fix = "give the operator an output, or remove the kernel"
                self.sink.error("kernel-without-output", "the kernel has no output to write", node.span, fix=fix)
                return None
            return Kernel((), ((target, formula),), node.span)
        if not isinstance(node, MappingNode):
            return None
        let = node.get("let")
        let_entries = let.entries if isinstance(let, MappingNode) else {}
        result_entries = {key: entry for key, entry in node.entries.items() if key != "let"}
        lets, results = self._formulas(let_entries), self._formulas(result_entries)
        if len(lets) < len(let_entries) or len(results) < len(result_entries):
            return None
        spans = {key: entry.key_span for key, entry in (*let_entries.items(), *result_entries.items())}
        return Kernel(lets, results, node.span, spans)

    def latitude(self, node: Node | None) -> Latitude | None:
        """Latitude of a kernel."""
        if not isinstance(node, MappingNode):
            return None
        terms, free = node.get("terms"), node.get("free")
        return Latitude(
            lower_formula(terms, self.sink) if isinstance(terms, ScalarNode) else None,
            lower_formula(free, self.sink) if isinstance(free, ScalarNode) else None,
            self.dtype(node.get("dtypes")),
            node.span,
        )

    def work(self, node: Node | None) -> tuple[tuple[str, Formula], ...]:
        """The work of a call; a single expression is the number of operations."""
        if isinstance(node, ScalarNode):
            formula = lower_formula(node, self.sink)
            return () if formula is None else ((OPERATIONS, formula),)
        return self._formulas(node.entries) if isinstance(node, MappingNode) else ()

    def _formulas(self, entries: Mapping[str, Entry]) -> tuple[tuple[str, Formula], ...]:
        """The formulas that can be read; the others are reported."""
        found = []
        for key, entry in entries.items():
            formula = lower_formula(entry.value, self.sink) if isinstance(entry.value, ScalarNode) else None
            if formula is not None:
                found.append((key, formula))
        return tuple(found)

    def constraints(self, node: Node | None) -> tuple[Constraint, ...]:
        """The constraints of an operator or variant."""
        return tuple(self._constraint(item) for item in mappings_of(node))

    def _constraint(self, node: MappingNode) -> Constraint:
        case, error, require = node.get("case"), node.get("error"), node.get("require")
        predicate = lower_formula(require, self.sink) if isinstance(require, ScalarNode) else None
        return Constraint(
            id=text_of(node.get("id")),
            note=text_of(node.get("note")),
            error=text_of(error),
            span=(node.get("id") or node).span,
            case=lower_case(case) if isinstance(case, MappingNode) else None,
            untestable=optional_text(node.get("untestable")),
            error_span=error.span if error else None,
            require=predicate,
            is_damaged=require is not None and predicate is None,
            checked=text_of(node.get("checked")).removeprefix("by ") or "call",
        )


def lower_case(node: MappingNode) -> Case:
    """An argument recipe."""
    entries = node.entries.items()
    return Case({key: entry.value for key, entry in entries}, node.span, {key: e.key_span for key, e in entries})


def lower_cases(node: Node | None) -> tuple[Case, ...]:
    """The argument recipes of an operator or variant."""
    return tuple(lower_case(item) for item in mappings_of(node))


def lower_overloads(node: Node | None) -> tuple[Overload, ...]:
    """The ATen overloads of an operator or variant."""
    return tuple(_overload(item) for item in items_of(node))


def lower_fused(node: Node | None) -> tuple[FusedOverload, ...]:
    """The overloads that compiled graphs fuse; one without a name for a form that stands alone."""
    if isinstance(node, ScalarNode):
        return (FusedOverload("", text_of(node), node.span),)
    found = ((item.get("overload") or item, item) for item in mappings_of(node))
    return tuple(FusedOverload(text_of(name), text_of(item.get("form")), name.span) for name, item in found)


def _overload(node: Node) -> Overload:
    if not isinstance(node, MappingNode):
        return Overload(text_of(node), node.span)
    name, bind, names = node.get("overload"), node.get("bind"), node.get("names")
    named = names.entries if isinstance(names, MappingNode) else {}
    constants = defaults_of(bind)
    arguments = {key: text_of(entry.value) for key, entry in named.items()}
    fixed = bind.entries if isinstance(bind, MappingNode) else {}
    spans = {key: entry.key_span for key, entry in [*named.items(), *fixed.items()]}
    return Overload(text_of(name), node.span if name is None else name.span, constants, arguments, spans)


def defaults_of(node: Node | None) -> dict[str, Default]:
    """The values of a mapping by name."""
    entries = node.entries if isinstance(node, MappingNode) else {}
    return {key: Default(_default_value(entry.value), entry.value.span) for key, entry in entries.items()}


def _default_value(node: Node) -> Scalar | tuple[Scalar, ...]:
    if isinstance(node, SequenceNode):
        return tuple(item.value for item in node.items if isinstance(item, ScalarNode))
    return node.value if isinstance(node, ScalarNode) else None
