"""Calls of compiled graphs: the functions of the interface for overloads of ATen, and how to call them.

A graph that `torch.compile` hands to the backend consists of functional overloads. Each one that a function of the
interface serves as it is (a generated kernel would make one call for it) gets a binding: for every parameter of the
function which result, argument or constant it is, and which dtypes it accepts. The planner in the vendor's package
reads the bindings as JSON; the C++ side has the functions with their trampolines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from diopigen.emit.c_text import COLUMNS
from diopigen.emit.elementwise.integers import nonzero
from diopigen.emit.elementwise.kernels import expressible, fusible_functions, kernel_text
from diopigen.emit.torch.arguments import CONVERSIONS, rule_of
from diopigen.emit.torch.binding import Binding, BindingError, bind
from diopigen.emit.torch.forms import Family, Kernel
from diopigen.emit.torch.schema import functional_overloads, schema_of
from diopigen.emit.torch.structured import scalar_forms
from diopigen.ir.aten import AtenSchema
from diopigen.ir.model import DtypeList, Function, Interface, Parameter, ShapeRule
from diopigen.ir.promotion import rounded_numbers
from diopigen.spec.expression import Call

Json = list[object]

COPIES = (
    json.dumps(["_to_copy", "diopiCastDtype", "", "plain", [["result", 0, []], ["tensor", "self", "", [], False]]]),
    json.dumps(["clone", "diopiCopyInp", "", "plain", [["tensor", "self", "same:0", [], False], ["result", 0, []]]]),
)
"""Bindings of copies, whose results have the layouts that the graph gives them."""

ENUMERATORS: Mapping[str, object] = {
    "RoundModeNone": None,
    "RoundModeTrunc": "trunc",
    "RoundModeFloor": "floor",
    "ReductionNone": 0,
    "ReductionMean": 1,
    "ReductionSum": 2,
}
"""Defaults of the interface that ATen writes otherwise."""

_INDEX = frozenset({"bool", "uint8", "int64", "int32"})
_POINTERS = frozenset({"scalar", "double", "int64", "bool", "float", "int32"})


@dataclass(frozen=True, slots=True)
class CallBinding:
    """A function that serves an overload. `number` is the argument of ATen that must be a number for it."""

    overload: str
    function: Function
    number: str
    iterator: bool
    """True if operands are converted to the dtype that they promote to, and broadcast."""
    parameters: tuple[Json, ...]

    def text(self) -> str:
        """A line of JSON."""
        kind = "iterator" if self.iterator else "plain"
        return json.dumps([self.overload, self.function.name, self.number, kind, list(self.parameters)])


def call_bindings(
    interface: Interface, known: Mapping[str, Family], handwritten: Sequence[Kernel]
) -> tuple[CallBinding, ...]:
    """The bindings of all overloads, by name; of an overload those for numbers first."""
    found: dict[str, list[CallBinding]] = {}
    for overload, function, schema, iterator in _served(interface, known, handwritten):
        for call in _calls(interface, overload, function, schema, iterator):
            found.setdefault(overload, []).append(call)
    for overload, own in list(found.items()):
        name = f"{overload.removesuffix('.Tensor')}.Scalar"
        if overload.endswith(".Tensor") and name not in found and (calls := _for_numbers(interface, name, own)):
            found[name] = calls
    return tuple(call for _, calls in sorted(found.items()) for call in calls)


def _for_numbers(interface: Interface, name: str, calls: Sequence[CallBinding]) -> list[CallBinding]:
    """The bindings of `mul.Tensor` for numbers, as those of `mul.Scalar`."""
    schema = schema_of(interface, name)
    if schema is None:
        return []
    known = {argument.name for argument in schema.arguments}
    named = [(call, {str(one[1]) for one in call.parameters if one[0] in ("tensor", "value")}) for call in calls]
    return [replace(call, overload=name) for call, names in named if call.number and names <= known]


def functions_of(interface: Interface, calls: Sequence[CallBinding]) -> list[str]:
    """The names of all functions that compiled graphs call."""
    names = {call.function.name for call in calls}
    return [function.name for function in interface.functions if function.planned or function.name in names]


def reductions(interface: Interface) -> dict[str, tuple[str, Function]]:
    """Overloads that a fused kernel computes over the last dimensions, each with its form and the function whose rules
    it follows."""
    found: dict[str, tuple[str, Function]] = {}
    for function in interface.functions:
        for one in function.fused:
            for name in [one.name] if one.name else functional_overloads(interface, function):
                found[name] = one.form, function
    return dict(sorted(found.items()))


def table_lines(names: Sequence[str]) -> list[str]:
    """The entries of the table of functions, as clang-format lays them out."""
    lines = []
    for name in names:
        line = f'{{"{name}", compiled("{name}", {name})}},'
        broken = f'{{"{name}",\n         compiled("{name}", {name})}},'
        lines.append(line if len(line) + 8 <= COLUMNS else broken)
    return lines


def fusible(interface: Interface, names: Sequence[str]) -> list[str]:
    """Lines of JSON, one for each of the functions whose kernel is an expression over elements: its parameters, its
    operands and whether they are masks, its constants as C++ over the parameters, the lines of its body, the kinds of
    dtypes that it computes in, the operands that must not be 0 where these are integers, and the numbers that are
    rounded to the dtype of the operands. Then overloads that reduce, with their forms."""
    lines = []
    floating = {function.name for function in expressible(interface)}
    for function in fusible_functions(interface):
        if function.name not in names or _not_fusible(function):
            continue
        kernel = kernel_text(function)
        operands = [(p.name, _is_mask(p)) for p in function.params if p.type == "tensor" and p.is_read]
        document = [
            function.name,
            [param.name for param in function.params],
            [list(operand) for operand in operands],
            [list(constant) for constant in kernel.constants],
            kernel.lines,
            [*(["floating"] if function.name in floating else []), *(["integral"] if kernel.divides_integers else [])],
            nonzero(function),
            rounded_numbers(function),
        ]
        lines.append(json.dumps(document))
    return [*lines, *(json.dumps([overload, form]) for overload, (form, _) in reductions(interface).items())]


def fusibility(interface: Interface, calls: Sequence[CallBinding]) -> dict[str, str]:
    """For each function of the interface why chains of compiled graphs cannot have it; empty for those that can."""
    called = set(functions_of(interface, calls))
    texts = {function.name for function in fusible_functions(interface)}
    return {function.name: _why_not(function, called, texts) for function in interface.functions}


def _why_not(function: Function, called: Set[str], texts: Set[str]) -> str:
    if function.fused:
        return ""
    if function.kernel is None:
        return "the spec has no kernel expression for it"
    if function.name not in texts:
        return "its kernel is no loop over elements of one dtype"
    if reason := _not_fusible(function):
        return reason
    return "" if function.name in called else "no functional overload of ATen calls it as it is"


def _not_fusible(function: Function) -> str:
    """Returns the reason why a chain cannot contain a function whose kernel is an expression."""
    assert function.kernel is not None
    if any(p.is_read and p.is_written for p in function.params):
        return "it writes to an operand"
    return "it has several results" if len(function.kernel.results) != 1 else ""


def _is_mask(param: Parameter) -> bool:
    return isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) <= {"bool", "uint8"}


def _served(
    interface: Interface, known: Mapping[str, Family], handwritten: Sequence[Kernel]
) -> Iterator[tuple[str, Function, AtenSchema, bool]]:
    """Functional overloads with the function that serves them, the schema that it is bound by, and whether operands go
    through a TensorIterator."""
    owners = {overload.name: function for function in interface.functions for overload in function.aten}
    by_hand = {overload for kernel in handwritten for overload in kernel.forms.overloads}
    by_hand |= {entry.overload for entry in interface.aten.left_out}
    named = {function.short_name: function for function in interface.functions}
    structured = set()
    for group in interface.aten.structured:
        structured |= {group.out, group.functional}
        schema = schema_of(interface, group.out)
        if group.out in owners and group.out not in by_hand and schema is not None:
            yield group.functional, owners[group.out], schema, group.iterator
    for name, function in owners.items():
        family = known.get(name)
        if family is None or family.functional is None or family.out is None or family.out != name:
            continue
        schema = schema_of(interface, family.out)
        if {family.out, family.functional} & (structured | by_hand) or schema is None:
            continue
        if name in interface.aten.needed or family.functional in interface.aten.needed:
            yield family.functional, function, schema, function.kernel is not None
    for entry in interface.aten.handwritten:
        functional = known[entry.overload].functional if entry.planned else None
        schema = schema_of(interface, functional) if functional is not None else None
        owner = named.get(entry.calls[0]) if entry.planned else None
        if schema is not None and owner is not None:
            yield schema.name, owner, schema, False


def _calls(
    interface: Interface, overload: str, function: Function, schema: AtenSchema, iterator: bool
) -> Iterator[CallBinding]:
    try:
        binding = bind(function, schema)
    except BindingError:
        return
    if binding.scales:
        return
    for other, operand in scalar_forms(interface, function):
        argument = binding.arguments.get(operand)
        if argument is not None and not argument.optional:
            parameters = _parameters(other, binding, schema, iterator)
            if parameters is not None:
                yield CallBinding(overload, other, argument.name, iterator, parameters)
    parameters = _parameters(function, binding, schema, iterator)
    if parameters is not None:
        yield CallBinding(overload, function, "", iterator, parameters)


def _parameters(function: Function, binding: Binding, schema: AtenSchema, iterator: bool) -> tuple[Json, ...] | None:
    """Kinds of the parameters of a function; None if a call cannot be planned."""
    results = [name.name for name in schema.arguments if name.written and name.keyword_only]
    count = len(results) if results else len(schema.returns)
    counts = {p.count: p.name for p in function.params if isinstance(p.count, str)}
    found: list[Json] = []
    outputs = list(binding.outputs)
    for param in function.params:
        if param.type == "generator" or param.type in ("new_tensor", "new_tensors"):
            return None
        if param.is_written:
            number = next((k for k, output in enumerate(outputs) if output.name == param.name), len(outputs))
            if param.type != "tensor" or param.is_read:
                return None
            if number >= count:
                if not param.nullable:
                    return None
                found.append(["null"])
                continue
            found.append(["result", number, _result_rule(param, binding, iterator)])
        elif param.name in counts:
            argument = binding.arguments.get(counts[param.name])
            if argument is None:
                return None
            found.append(["count", argument.name])
        elif param.type in ("tensor", "tensors"):
            argument = binding.arguments.get(param.name)
            if argument is None:
                found.append(["null"])
                continue
            dtypes = _listed(param)
            if param.type == "tensors":
                found.append(["tensors", argument.name, dtypes])
                continue
            expands = iterator and all(_keeps_shape(output) for output in outputs)
            found.append(["tensor", argument.name, _input_rule(function, param, outputs, iterator), dtypes, expands])
        else:
            found.append(_value(param, binding))
    return tuple(found)


def _listed(param: Parameter) -> list[str]:
    """The dtypes that a tensor may have; empty for any."""
    if not isinstance(param.dtype, DtypeList) or "any" in param.dtype.names:
        return []
    return list(param.dtype.dtypes)


def _result_rule(param: Parameter, binding: Binding, iterator: bool) -> object:
    """Required dtype of a result: `type` is the one that operands promote to, a list has the accepted ones,
    `opmath:self` is computed from the dtype of an argument; `accumulate` must not change when sums are widened."""
    if isinstance(param.dtype, DtypeList):
        if iterator and set(param.dtype.dtypes) <= {"bool", "uint8"}:
            return ["bool"]
        return _listed(param)
    if iterator:
        return "type"
    rule = rule_of(param)
    if rule is not None and rule[0] == "accumulate":
        return "accumulate"
    if rule is not None and rule[0] in CONVERSIONS and rule[1] and rule[1][0] in binding.arguments:
        return f"{rule[0]}:{binding.arguments[rule[1][0]].name}"
    return []


def _input_rule(function: Function, param: Parameter, outputs: Sequence[Parameter], iterator: bool) -> str:
    """Target of an operand's conversion: `type`; `same:0`, the dtype of a result; `accumulate:0`, unless the result has
    the dtype that the rule derives from the operand's; empty if there is none."""
    if isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) <= _INDEX:
        return ""
    if iterator:
        return "type"
    own = rule_of(param)
    if own is not None and own[0] == "same" and own[1]:
        of = function.param(own[1][0])
        if of is not None and of.direction == "in" and of is not param:
            return _input_rule(function, of, outputs, iterator)
    for number, output in enumerate(outputs):
        rule = rule_of(output)
        if rule is not None and param.name in rule[1]:
            return f"{rule[0] if rule[0] in CONVERSIONS else 'same'}:{number}"
    return ""


def _keeps_shape(output: Parameter) -> bool:
    if not isinstance(output.shape, ShapeRule) or not isinstance(output.shape.formula.expression, Call):
        return False
    return output.shape.formula.expression.function == "same"


def _plain(value: object) -> object:
    """A default as a value of ATen."""
    if isinstance(value, tuple):
        return list(value)
    return ENUMERATORS.get(value, value) if isinstance(value, str) else value


def _value(param: Parameter, binding: Binding) -> Json:
    """A parameter that is no tensor: its argument with what replaces None, or a constant."""
    default = param.default.value if param.default is not None else None
    standard = _plain(default)
    if param.name in binding.constants:
        return ["constant", _plain(binding.constants[param.name].value)]
    argument = binding.arguments.get(param.name)
    if argument is None:
        return ["constant", standard]
    length = argument.length if argument.length is not None and not argument.optional else None
    keeps_none = param.nullable or (param.type in _POINTERS and default is None) or param.type == "sizes"
    return ["value", argument.name, param.type, None if keeps_none else standard, length]
