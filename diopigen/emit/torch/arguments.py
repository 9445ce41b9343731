"""Arguments of a call from a PyTorch kernel to a function of the interface: an expression in C++ for each parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from diopigen.contract.functions import ONE_OF
from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.escaping import c_string
from diopigen.emit.torch.binding import Binding, BindingError
from diopigen.ir.aten import AtenArgument
from diopigen.ir.model import DtypeList, DtypeRule, Function, Parameter, ShapeRule
from diopigen.spec.expression import Call, Name, walk

_PLAIN = {"bool": "bool", "int64": "int64_t", "int32": "int32_t", "double": "double", "float": "float"}
_INDEX = frozenset({"bool", "uint8", "int64", "int32"})


_SIDES = {"max": "kLower", "min": "kUpper"}
"""The bound that is the second operand of a function of expressions."""

CONVERSIONS: Mapping[str, str] = {"accumulate": "accumulated", "to_float": "to_float", "opmath": "at::toOpMathType"}
"""C++ functions that compute the dtype of a rule from that of its operand."""


def dtype_set(dtypes: DtypeList) -> str:
    """A set of dtypes by the words of the spec, whose constants are in dtypes.h; empty for all."""
    if "any" in dtypes.names:
        return ""
    return " | ".join(f"k{word.capitalize()}" for word in dtypes.names)


def rule_of(param: Parameter) -> tuple[str, tuple[str, ...]] | None:
    """The rule of a parameter's dtype: its name and the parameters that it looks at. Of several that are legal the one
    that PyTorch's devices have, which keep statistics of halves in float32."""
    if not isinstance(param.dtype, DtypeRule) or not isinstance(param.dtype.formula.expression, Call):
        return None
    call = param.dtype.formula.expression
    if call.function == ONE_OF:
        rules = [one for one in call.arguments if isinstance(one, Call)]
        first = call.arguments[0]
        usual = first if isinstance(first, Call) else Call("same", (first,))
        call = next((one for one in rules if one.function == "opmath"), usual)
    return call.function, tuple(argument.name for argument in call.arguments if isinstance(argument, Name))


def _keeps_shape(output: Parameter) -> bool:
    """Returns whether a result has the shape of an operand, rather than the one that all operands broadcast to."""
    if not isinstance(output.shape, ShapeRule) or not isinstance(output.shape.formula.expression, Call):
        return False
    return output.shape.formula.expression.function == "same"


def _literal(param: Parameter) -> str:
    """The default of a parameter."""
    if param.default is None or param.default.value is None:
        return "nullptr"
    value = param.default.value
    if isinstance(value, tuple):
        if value:
            raise BindingError(f"has nothing for {param.name}, whose default is a list")
        return "diopiSize_t{nullptr, 0}"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if param.type == "scalar":
        return f"Number(at::Scalar({text}))"
    if param.type == "string":
        return c_string(text)
    return text


def _is_stored(function: Function, param: Parameter) -> bool:
    """Returns whether a number may itself be a result: where elements are filled with it, or a branch of the kernel
    expression is the number."""
    if function.kernel is None:
        return "can_hold" in _constraining(function, param)
    expressions = [formula.expression for _, formula in function.kernel.results]
    while expressions:
        part = expressions.pop()
        if isinstance(part, Call) and part.function == "where":
            expressions += part.arguments[1:]
        elif part == Name(param.name):
            return True
    return False


def _constraining(function: Function, param: Parameter) -> set[str]:
    """The functions in predicates about a parameter."""
    found: set[str] = set()
    for constraint in function.constraints:
        parts = list(walk(constraint.require.expression)) if constraint.require is not None else []
        if Name(param.name) in parts:
            found |= {part.function for part in parts if isinstance(part, Call)}
    return found


def _is_converted(function: Function, param: Parameter) -> bool:
    """Returns whether a function computes with a number in the dtype of its tensors: a constraint says what an integral
    dtype holds, or the number is an operand of the kernel expression that does not take part in promotion."""
    if {"is_integral", "can_hold"} & _constraining(function, param):
        return True
    return function.kernel is not None and param.name not in function.kernel.promoted


def _number(function: Function, param: Parameter, argument: AtenArgument, dtype: str) -> str:
    """A number of ATen; PyTorch rejects those that the dtype which they are converted to does not hold."""
    if not _is_converted(function, param):
        return f"Number({argument.name})"
    computed = dtype if _is_stored(function, param) else f"at::toOpMathType({dtype})"
    return f"Number({argument.name}, {computed}{_side(function, param)})"


def _side(function: Function, param: Parameter) -> str:
    """The last argument of a number that is a bound: the second operand of `max` or `min` in the kernel expression."""
    formulas = () if function.kernel is None else function.kernel.results
    for part in (part for _, formula in formulas for part in walk(formula.expression)):
        if isinstance(part, Call) and part.function in _SIDES and part.arguments[1:] == (Name(param.name),):
            return f", Bound::{_SIDES[part.function]}"
    return ""


def value(param: Parameter, argument: AtenArgument | None) -> str:
    """The expression for a parameter that is no tensor."""
    if argument is None:
        return _literal(param)
    name = argument.name
    if param.type == "scalar":
        return f"Number({name})" if argument.type == "Scalar" else f"Number(at::Scalar({name}))"
    if param.type == "sizes":
        # PyTorch lets one entry stand for all dimensions where the schema says how many there are.
        is_repeated = argument.length is not None and argument.length > 1 and not argument.optional
        return f"Repeated<{argument.length}>({name})" if is_repeated else f"sizes({name})"
    if param.type == "generator":
        return f"call.generator({name})"
    if param.type == "string":
        return f"std::string({name}).c_str()"
    if param.type == "diopiReduction_t":
        return f"reduction_of({name})"
    if param.type == "diopiRoundMode_t":
        return f"round_mode({name})"
    plain = _PLAIN[param.type]
    if argument.type == "Scalar":
        return f"{name}.to<{plain}>()"
    if param.nullable:
        optional_value = name if argument.optional else f"std::make_optional({name})"
        return f"Optional<{plain}>({optional_value})"
    if argument.optional:
        if param.default is None:
            raise BindingError(f"has nothing for {param.name} where '{name}' is not given")
        return f"{name}.value_or({_literal(param)})"
    return name


@dataclass(slots=True)
class TensorArguments:
    """The declarations that a call needs, and the words for its tensors."""

    function: Function
    binding: Binding
    is_iterator: bool
    results: tuple[str, ...]
    """Names of the outputs."""
    lines: list[str] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)
    _types: dict[str, str] = field(default_factory=dict)

    @property
    def dtype(self) -> str:
        """The dtype that an iterator computes in, or that of the first result."""
        return "type" if self.is_iterator else f"{self.results[0]}.scalar_type()"

    def declare(self) -> None:
        """Declares outputs, then inputs."""
        for number, param in enumerate(self.binding.outputs):
            if number < len(self.results):
                self._output(param, self.results[number])
        for param in self.function.params:
            if param.type in ("tensor", "tensors") and param.direction == "in":
                self._input(param)

    def _output(self, param: Parameter, name: str) -> None:
        if param.type != "tensor":
            raise BindingError(f"has a result, {param.name}, that the function allocates")
        word = f"{name}_written"
        self.words[param.name] = word
        if not self.is_iterator and (promoted := self._promoted(param)):
            check = [f"at::canCast({promoted}, {name}.scalar_type())", '"result type "', promoted]
            check += ['" can\'t be cast to the desired output type "', f"{name}.scalar_type()"]
            self.lines += call_lines("TORCH_CHECK", check, ";", COLUMNS - 4).split("\n")
        self.lines += call_lines(f"Output {word}", [name, *self._output_type(param, name)], ";", COLUMNS - 4).split(
            "\n"
        )

    def _output_type(self, param: Parameter, name: str) -> list[str]:
        rule = rule_of(param)
        if self.is_iterator:
            if isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) <= {"bool", "uint8"}:
                return ["at::kBool"]
            return ["c10::toRealValueType(type)"] if rule is not None and rule[0] == "to_real" else ["type"]
        if isinstance(param.dtype, DtypeList):
            mask = dtype_set(param.dtype)
            return [f"{mask}, scalar_type_of(diopi_dtype_{param.dtype.dtypes[0]})"] if mask else []
        if promoted := self._promoted(param):
            return [promoted]
        # Sums of integers are int64; what the caller wants instead is made from them.
        return [f"accumulated({name}.scalar_type())"] if rule is not None and rule[0] == "accumulate" else []

    def _promoted(self, output: Parameter) -> str:
        """The dtype of a result in whose promotion a number takes part; empty for others. The output of a caller may
        have another, which the result is cast to."""
        rule = rule_of(output)
        operands = [self.binding.arguments.get(name) for name in rule[1]] if rule is not None else []
        names = [operand.name for operand in operands if operand is not None]
        has_number = any(operand is not None and operand.type == "Scalar" for operand in operands)
        is_promoted = rule is not None and rule[0] == "promote" and has_number and len(names) == len(operands)
        return f"at::result_type({', '.join(names)})" if is_promoted else ""

    def _input(self, param: Parameter) -> None:
        argument = self.binding.arguments.get(param.name)
        if argument is None:
            self.words[param.name] = "nullptr"
            return
        word = f"{argument.name}_read"
        like = self._same_dtype(param)
        if like is not None:
            self.lines.append(f"require_same_dtype({like}, {argument.name});")
        kind = "InputList" if param.type == "tensors" else "OptionalInput" if argument.optional else "Input"
        parts = ["call", argument.name]
        stored = self._input_type(param, argument) if param.type == "tensor" else ""
        mask = dtype_set(param.dtype) if isinstance(param.dtype, DtypeList) else ""
        parts += [text for text in (stored, mask) if text]
        if kind == "Input" and stored and self._needs_one_shape():
            parts += [*([] if mask else ["kAnyDtype"]), f"{self.results[0]}.sizes()"]
        const = "" if kind == "InputList" else "const "
        self.lines += call_lines(f"{const}{kind} {word}", parts, ";", COLUMNS - 4).split("\n")
        self.words[param.name] = f"{word}.data()" if param.type == "tensors" else word
        if isinstance(param.count, str):
            self.words[param.count] = f"{word}.size()"

    def _same_dtype(self, param: Parameter) -> str | None:
        """The operand whose dtype this one must have, where PyTorch does not promote them."""
        rule = rule_of(param)
        if self.is_iterator or rule is None or rule[0] != "same" or not rule[1] or param.type != "tensor":
            return None
        other = self.binding.arguments.get(rule[1][0])
        return other.name if other is not None and other.type == "Tensor" and not other.optional else None

    def _needs_one_shape(self) -> bool:
        """Returns whether operands that PyTorch broadcasts must have one shape for the function."""
        tensors = [param for param in self.function.params if param.type == "tensor" and param.direction == "in"]
        provided = [param for param in tensors if param.name in self.binding.arguments]
        return self.is_iterator and len(provided) > 1 and all(_keeps_shape(output) for output in self.binding.outputs)

    def _input_type(self, param: Parameter, argument: AtenArgument) -> str:
        """Target of the tensor's conversion; empty if there is none."""
        if isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) <= _INDEX:
            return ""
        if self.is_iterator:
            return "type"
        own = rule_of(param)
        if own is not None and own[0] == "same" and own[1] and own[1][0] in self._types:
            return self._types[own[1][0]]
        for number, output in enumerate(self.binding.outputs[: len(self.results)]):
            rule = rule_of(output)
            if rule is None or param.name not in rule[1]:
                continue
            target = self._promoted(output) or f"{self.results[number]}.scalar_type()"
            helper = CONVERSIONS.get(rule[0])
            if helper is not None:
                stored = f"{argument.name}.scalar_type()"
                target = f"{helper}({stored}) == {target} ? {stored} : {target}"
            elif rule[0] == "to_real":
                target = f"c10::isComplexType({argument.name}.scalar_type()) ? c10::toComplexType({target}) : {target}"
            elif rule[0] not in ("same", "promote"):
                continue
            self._types[param.name] = target
            return target
        return ""


def call_items(function: Function, binding: Binding, words: Mapping[str, str], dtype: str) -> list[str]:
    """The arguments of the call, in the order of the interface. `dtype` is that of the first result, or the one that an
    iterator computes in."""
    items = []
    for param in function.params:
        argument = binding.arguments.get(param.name)
        if param.name in words:
            items.append(words[param.name])
        elif param.is_written and param.type != "generator":
            if not param.nullable:
                raise BindingError(f"has no result for {param.name}")
            items.append("nullptr")
        elif param.name in binding.constants:
            items.append(_literal(replace(param, default=binding.constants[param.name])))
        elif param.type == "scalar" and argument is not None and argument.type == "Scalar":
            items.append(_number(function, param, argument, dtype))
        else:
            items.append(value(param, argument))
    return items


def statement(function: Function, items: Sequence[str], depth: int = 1) -> list[str]:
    """The call itself, indented."""
    indent = " " * 4 * depth
    head = call_lines("call", [f'"{function.name}"', function.name, *items], ";", COLUMNS - len(indent))
    return [indent + line for line in head.split("\n")]
