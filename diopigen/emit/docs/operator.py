"""The data of an operator's page: all that the templates show, as text that they only lay out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from diopigen.emit.c.headers import function_declaration
from diopigen.emit.docs.c_example import c_example
from diopigen.emit.docs.facts import Facts
from diopigen.emit.docs.links import TYPES_PAGE, operator_path, to
from diopigen.emit.docs.python_example import python_example
from diopigen.emit.docs.signature import marked_signature
from diopigen.emit.prose import default_text, dtype_text, shape_text
from diopigen.header.signature import c_type
from diopigen.ir.model import BASE, DtypeList, Function, Interface, Parameter
from diopigen.ir.models import Model, ModelCall
from diopigen.spec.expression import to_text
from diopigen.spec.grammar_operators import UNSPECIFIED
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode


@dataclass(frozen=True, slots=True)
class DtypeWord:
    """A word of a dtype list with what it stands for, and the page that says so; a rule has neither."""

    text: str
    meaning: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class ParameterRow:
    """A row of the table of parameters. `remarks` are sentences that its other columns do not have."""

    name: str
    anchor: str
    type: str
    direction: str
    dtypes: tuple[DtypeWord, ...]
    shape: str
    default: str
    nullable: bool
    doc: str
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConstraintRow:
    """A row of the contract. `checked` says who evaluates it."""

    id: str
    anchor: str
    predicate: str
    note: str
    error: str
    checked: str


@dataclass(frozen=True, slots=True)
class CallRow:
    """Calls of a model: `arguments` as the table of the model has them."""

    phase: str
    function: str
    dtype: str
    count: int
    arguments: str


@dataclass(frozen=True, slots=True)
class ModelUse:
    """The calls of one model."""

    name: str
    doc: str
    count: int
    rows: tuple[CallRow, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One C function: the base of the operator or a variant."""

    name: str
    variant: str
    doc: str
    signature: Markup
    parameters: tuple[ParameterRow, ...]
    constraints: tuple[ConstraintRow, ...]
    unspecified: tuple[str, ...]
    kernel: tuple[str, ...]
    aten: tuple[str, ...]
    deprecated: str
    tolerance: str
    specified: str
    oracle: str
    cases: Mapping[str, int] | None
    states: tuple[tuple[str, str], ...]
    """The state of each vendor, by its name."""

    @property
    def case_count(self) -> int:
        """Cases of all axes."""
        return sum((self.cases or {}).values())


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another page."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class OperatorPage:
    """The page of an operator."""

    name: str
    family: str
    path: str
    header: str
    since: str
    source: str
    draft: bool
    forms: tuple[Form, ...]
    gradient_of: tuple[Link, ...]
    gradients: tuple[Link, ...]
    uses: tuple[ModelUse, ...]
    c_example: str
    python_example: str

    @property
    def base(self) -> Form:
        """The form that the page begins with."""
        return self.forms[0]


class Pages:
    """Makes the pages of all operators of an interface."""

    def __init__(self, interface: Interface, facts: Facts) -> None:
        self.interface = interface
        self.facts = facts
        self.sets = {one.name: one.dtypes for one in interface.dtype_sets}
        self.operators: dict[str, list[Function]] = {}
        for function in interface.functions:
            self.operators.setdefault(function.operator, []).append(function)
        self.gradients: dict[str, list[str]] = {}
        for name, functions in self.operators.items():
            for forward in dict.fromkeys(one.backward_of for one in functions if one.backward_of):
                self.gradients.setdefault(forward, []).append(name)

    def all(self) -> list[OperatorPage]:
        """Every operator, in the order of the interface."""
        return [self._page(name, functions) for name, functions in self.operators.items()]

    def _page(self, name: str, functions: Sequence[Function]) -> OperatorPage:
        ordered = sorted(functions, key=lambda one: one.variant != BASE)
        base = ordered[0]
        path = operator_path(name)
        sample = self.facts.samples.get(base.name)
        forward = [base.backward_of] if base.backward_of else []
        return OperatorPage(
            name=name,
            family=base.family,
            path=path,
            header=base.header,
            since=base.since,
            source=base.source or "",
            draft=base.draft,
            forms=tuple(self._form(function, path) for function in ordered),
            gradient_of=self._links(forward, path),
            gradients=self._links(self.gradients.get(name, []), path),
            uses=tuple(use for model in self.facts.models if (use := _use(model, functions)) is not None),
            c_example=(c_example(self.interface, base, sample) or "") if sample is not None else "",
            python_example=(python_example(base, sample) or "") if sample is not None else "",
        )

    def _links(self, operators: Sequence[str], page: str) -> tuple[Link, ...]:
        known = (name.removeprefix("diopi") for name in operators)
        return tuple(Link(name, to(operator_path(name), page)) for name in known if name in self.operators)

    def _form(self, function: Function, page: str) -> Form:
        facts = self.facts
        kernel = function.kernel
        formulas = () if kernel is None else (*kernel.lets, *kernel.results)
        line = f"{self.interface.file_of.get(function.name, '')}:{function.span.line}"
        return Form(
            name=function.name,
            variant=function.variant,
            doc=function.doc,
            signature=marked_signature(function, function_declaration(function), self.interface, page),
            parameters=tuple(self._parameter(function, param, page) for param in function.params),
            constraints=tuple(_constraints(function)),
            unspecified=tuple(UNSPECIFIED[word] for word in function.unspecified),
            kernel=tuple(f"{name} = {to_text(formula.expression)}" for name, formula in formulas),
            aten=tuple(overload.name for overload in function.aten),
            deprecated=function.deprecated or "",
            tolerance=function.tolerance or "",
            specified=line,
            oracle=facts.oracles.get(function.name, ""),
            cases=None if facts.cases is None else facts.cases.get(function.name),
            states=tuple(
                (one.vendor, one.states[function.name]) for one in facts.vendors if function.name in one.states
            ),
        )

    def _parameter(self, function: Function, param: Parameter, page: str) -> ParameterRow:
        return ParameterRow(
            name=param.name,
            anchor=f"{function.name}.{param.name}",
            type=c_type(param),
            direction=param.direction,
            dtypes=tuple(self._dtypes(param, page)),
            shape=shape_text(param),
            default=default_text(param),
            nullable=param.nullable,
            doc=param.doc,
            remarks=tuple(_remarks(param)),
        )

    def _dtypes(self, param: Parameter, page: str) -> list[DtypeWord]:
        if not isinstance(param.dtype, DtypeList):
            text = dtype_text(param)
            return [DtypeWord(text)] if text else []
        return [
            DtypeWord(word, ", ".join(self.sets.get(word, (word,))), to(TYPES_PAGE, page, f"dtype-{word}"))
            for word in param.dtype.names
        ]


def _constraints(function: Function) -> list[ConstraintRow]:
    return [
        ConstraintRow(
            id=one.id,
            anchor=f"{function.name}.{one.id}",
            predicate=to_text(one.require.expression) if one.require is not None else "",
            note=one.note,
            error=one.error,
            checked=one.checked,
        )
        for one in function.constraints
    ]


def _remarks(param: Parameter) -> list[str]:
    """Properties of a parameter in addition to the columns of its row."""
    found = []
    if param.values:
        found.append(f"One of {', '.join(param.values)}.")
    if param.count is not None:
        found.append(f"Length: {param.count}.")
    if param.free:
        words = " and ".join({"nullability": "null"}.get(word, f"another {word}") for word in param.free)
        found.append(f"A library may accept or reject {words}.")
    if param.unordered is not None:
        along = param.unordered.along
        where = to_text(param.unordered.where.expression)
        found.append(f"In any order along {'dimension ' if isinstance(along, int) else ''}{along} where {where}.")
    if param.direction == "partial_out":
        found.append("Only a part is written; the rest stays as it was.")
    if param.shares:
        found.append(f"May be the same tensor as {param.shares}.")
    if param.sparse:
        found.append("In compressed sparse rows.")
    if param.type in ("new_tensor", "new_tensors"):
        found.append("Allocated by the operator through diopiRequireTensor.")
    if not param.dtype and param.type == "tensor":
        found.append("Of any dtype.")
    return found


def _use(model: Model, functions: Sequence[Function]) -> ModelUse | None:
    """The calls that a model makes of an operator; None where it makes none."""
    names = {function.name for function in functions}
    calls = [call for call in model.calls if call.function in names]
    if not calls:
        return None
    return ModelUse(model.name, model.doc, sum(call.count for call in calls), tuple(map(_call, calls)))


def _call(call: ModelCall) -> CallRow:
    arguments = ", ".join(f"{name}: {node_text(node)}" for name, node in call.recipe.arguments.items())
    return CallRow(call.phase, call.function, call.dtype, call.count, arguments)


def node_text(node: Node) -> str:
    """A YAML node as it would be written in one line."""
    if isinstance(node, ScalarNode):
        return node.text
    if isinstance(node, SequenceNode):
        return f"[{', '.join(map(node_text, node))}]"
    assert isinstance(node, MappingNode)
    return f"{{{', '.join(f'{key}: {node_text(entry.value)}' for key, entry in node.entries.items())}}}"
