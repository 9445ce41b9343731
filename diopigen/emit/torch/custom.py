"""Operators of the namespace `diopi` for the functions that no overload of ATen names: `torch.ops.diopi.nms_mmcv`.

What a function reads is an argument. An output whose shape and dtype the rules say is a result; any other tensor that
it writes is an argument that the schema marks as written. Functions of a gradient, and those that have one, make all
outputs that the rules say: what they add to starts from zeros.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.torch.arguments import CONVERSIONS, rule_of
from diopigen.emit.torch.binding import Unbound
from diopigen.ir.model import DtypeList, Function, Interface, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import Binary, Call, Expression, Name, Number

_INDENT = "    "
_STRENGTH = {"+": 1, "-": 1, "*": 2, "//": 2}
_NUMBERS = {"int64": "int64_t", "int32": "int32_t", "int": "int", "bool": "bool", "float": "float", "double": "double"}
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+(?:[0-9]+[a-z]+)*|[A-Z0-9]+")
_SCALARS = {
    "bool": "at::kBool",
    "uint8": "at::kByte",
    "int8": "at::kChar",
    "int16": "at::kShort",
    "int32": "at::kInt",
    "int64": "at::kLong",
    "float16": "at::kHalf",
    "bfloat16": "at::kBFloat16",
    "float32": "at::kFloat",
    "float64": "at::kDouble",
}


def operator_name(function: Function) -> str:
    """`nms_mmcv` for `diopiNmsMmcv`."""
    return "_".join(_WORDS.findall(function.short_name)).lower()


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a schema, and what it is in C++ to the kernel and to the function that makes the results."""

    param: Parameter
    schema: str
    """The type of the schema."""
    kernel: str
    meta: str
    default: str | None = None

    @property
    def name(self) -> str:
        return self.param.name


@dataclass(frozen=True, slots=True)
class Result:
    """A tensor that the operator makes. Without `sizes` the function of the vendor does."""

    param: Parameter
    like: str = ""
    dtype: str = ""
    sizes: str | None = None
    zeros: bool = False


@dataclass(slots=True)
class Custom:
    """An operator of the namespace `diopi`."""

    function: Function
    arguments: list[Argument] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    scratch: list[Parameter] = field(default_factory=list)
    """Written, of any shape: memory that the caller need not see."""
    dimensions: dict[str, str] = field(default_factory=dict)
    """What sizes of results are called, and where each is found."""

    @property
    def name(self) -> str:
        return operator_name(self.function)

    @property
    def is_shaped(self) -> bool:
        """Whether all results are known without running."""
        return all(result.sizes is not None for result in self.results)

    @property
    def schema(self) -> str:
        items = [
            f"{one.schema} {one.name}{f'={one.default}' if one.default is not None else ''}" for one in self.arguments
        ]
        results = ["Tensor"] * len(self.results)
        returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{self.name}({', '.join(items)}) -> {returned}"


class _Shapes:
    """Shapes in C++ out of arguments."""

    def __init__(self, function: Function) -> None:
        self._params = {param.name: param for param in function.params}
        self.counts: set[str] = set()
        """The integers that sizes follow from."""
        self.used: dict[str, str] = {}
        """The dimensions of arguments that sizes follow from, and where each is found."""
        self._sources: dict[str, str] = {}
        for param in function.params:
            if param.type != "tensor" or param.direction != "in" or param.nullable:
                continue
            if isinstance(param.shape, ShapeList):
                self._dimensions(param, param.shape)

    def _dimensions(self, param: Parameter, shape: ShapeList) -> None:
        rank = len(shape.dimensions)
        variadic = next((n for n, one in enumerate(shape.dimensions) if one.kind == "variadic"), None)
        for position, one in enumerate(shape.dimensions):
            if one.kind != "formula" or not isinstance(one.formula.expression, Name):
                continue
            name = one.formula.expression.name
            if name in self._params or name in self._sources:
                continue
            if variadic is None:
                self._sources[name] = f'sizeOf({param.name}, "{param.name}", {rank}, {position})'
            else:
                index = position if position < variadic else position - rank
                self._sources[name] = f'sizeOfAtLeast({param.name}, "{param.name}", {rank - 1}, {index})'

    def number(self, expression: Expression) -> str:
        """An integer."""
        if isinstance(expression, Number):
            return str(expression.value)
        if isinstance(expression, Name):
            param = self._params.get(expression.name)
            if param is not None and param.type in ("int64", "int32", "int") and param.direction == "in":
                self.counts.add(param.name)
                return param.name
            if param is None and expression.name in self._sources:
                self.used[expression.name] = self._sources[expression.name]
                return expression.name
            raise Unbound(f"has no value for {expression.name}")
        if isinstance(expression, Binary) and expression.operator in _STRENGTH:
            strength = _STRENGTH[expression.operator]
            left = self._operand(expression.left, strength)
            right = self._operand(expression.right, strength + 1)
            if expression.operator == "//":
                return f"quotient({self.number(expression.left)}, {self.number(expression.right)})"
            return f"{left} {expression.operator} {right}"
        raise Unbound("has a size that is no sum or product")

    def _operand(self, expression: Expression, strength: int) -> str:
        text = self.number(expression)
        is_sum = isinstance(expression, Binary) and expression.operator in ("+", "-")
        is_weaker = is_sum or (isinstance(expression, Binary) and expression.operator == "*" and strength > 2)
        is_weaker = is_weaker and strength > 1
        return f"({text})" if is_weaker else text

    def _size(self, expression: Expression) -> str:
        """A size as it is in a list: what is computed has a name."""
        text = self.number(expression)
        if not isinstance(expression, Binary):
            return text
        known = next((name for name, source in self.used.items() if source == text), None)
        if known is None:
            known = f"size_{len(self.used)}"
            self.used[known] = text
        return known

    def condition(self, expression: Expression) -> str:
        """A condition on arguments."""
        if isinstance(expression, Name):
            flag = self._params.get(expression.name)
            if flag is not None and flag.type == "bool":
                return expression.name
        if isinstance(expression, Binary) and expression.operator == "==" and isinstance(expression.left, Name):
            param = self._params.get(expression.left.name)
            if param is not None and param.type == "int64" and isinstance(expression.right, Number):
                return f"{param.name} == {expression.right.value}"
        raise Unbound("has a shape that depends on more than a flag")

    def sizes(self, param: Parameter) -> str:
        """The sizes of a tensor."""
        if isinstance(param.shape, ShapeList):
            items = []
            for one in param.shape.dimensions:
                if one.kind != "formula":
                    raise Unbound("has a size that only the call says")
                items.append(self._size(one.formula.expression))
            return _list(items)
        if isinstance(param.shape, ShapeRule):
            return self._rule(param.shape.formula.expression)
        raise Unbound("has no rule for its shape")

    def _rule(self, expression: Expression) -> str:
        if not isinstance(expression, Call):
            raise Unbound("has a shape that no rule says")
        if expression.function == "list":
            return _list([self._size(one) for one in expression.arguments])
        if expression.function == "one_of":
            return self._rule(expression.arguments[0])
        if expression.function == "where":
            condition, yes, no = expression.arguments
            return f"({self.condition(condition)} ? {self._rule(yes)} : {self._rule(no)})"
        if expression.function in ("same", "sizes") and isinstance(expression.arguments[0], Name):
            other = self._params[expression.arguments[0].name]
            if other.type == "tensor" and other.direction == "in" and not other.nullable:
                return f"sizesOf({other.name})"
            if other.type == "tensor":
                return self.sizes(other)
        raise Unbound(f"has a shape by the rule {expression.function}")


def _list(items: Sequence[str]) -> str:
    return f"Sizes{{{', '.join(items)}}}"


def _dtype(function: Function, param: Parameter) -> tuple[str, str]:
    """The argument that a result is like, and its dtype in C++."""
    first = next((p.name for p in function.params if p.type == "tensor" and p.direction == "in" and not p.nullable), "")
    if not first:
        raise Unbound("is like no tensor")
    if isinstance(param.dtype, DtypeList):
        if len(param.dtype.dtypes) != 1 or param.dtype.dtypes[0] not in _SCALARS:
            raise Unbound("may have several dtypes")
        return first, _SCALARS[param.dtype.dtypes[0]]
    rule = rule_of(param)
    if rule is None or rule[0] not in ("same", "to_real", *CONVERSIONS) or not rule[1]:
        raise Unbound("has a dtype that no rule says")
    other = function.param(rule[1][0])
    if other is None or other.type != "tensor" or other.nullable:
        raise Unbound("has the dtype of what may be absent")
    if other.direction != "in":
        return _dtype(function, other)
    convert = {"same": "", "to_real": "c10::toRealValueType", **CONVERSIONS}[rule[0]]
    stored = f"{other.name}.scalar_type()"
    return other.name, f"{convert}({stored})" if convert else stored


def _default(param: Parameter) -> str | None:
    """The default as a schema has it."""
    if param.type == "generator" or param.nullable:
        return "None"
    if param.default is None:
        return None
    value = param.default.value
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, str):
        return f'"{value}"' if param.type == "string" else None
    return str(value)


def _argument(param: Parameter, counts: set[str]) -> Argument:
    kinds = {
        "tensor": ("Tensor", "const at::Tensor&"),
        "tensors": ("Tensor[]", "at::TensorList"),
        "bool": ("bool", "bool"),
        "double": ("float", "double"),
        "float": ("float", "double"),
        "int64": ("int", "int64_t"),
        "int32": ("int", "int64_t"),
        "int": ("int", "int64_t"),
        "string": ("str", "std::string_view"),
        "sizes": ("int[]", "at::IntArrayRef"),
        "scalar": ("Scalar", "const at::Scalar&"),
        "generator": ("Generator?", "std::optional<at::Generator>"),
        "diopiReduction_t": ("int", "int64_t"),
        "diopiRoundMode_t": ("int", "int64_t"),
    }
    if param.type not in kinds:
        raise Unbound(f"{param.name} has the type {param.type}, which schemas do not have")
    schema, kernel = kinds[param.type]
    if param.is_written and param.type not in ("tensor", "tensors", "generator"):
        raise Unbound(f"{param.name} is a number that the function writes")
    if param.type == "scalar" and param.nullable:
        schema, kernel = "Scalar?", "const std::optional<at::Scalar>&"
    elif param.type == "tensor" and param.nullable:
        schema, kernel = "Tensor?", "const std::optional<at::Tensor>&"
    elif param.type == "sizes" and param.nullable:
        schema, kernel = "int[]?", "at::OptionalIntArrayRef"
    elif param.nullable and param.type in _NUMBERS:
        schema, kernel = f"{schema}?", f"std::optional<{kernel}>"
    elif param.nullable and param.type != "generator":
        raise Unbound(f"{param.name} is a list, or a member of one, that may be null")
    if param.sparse:
        raise Unbound(f"{param.name} is sparse; torch.sparse.mm calls the function")
    meta = kernel
    if param.name in counts and schema == "int":
        schema, meta = "SymInt", "c10::SymInt"
    return Argument(param, schema, kernel, meta, _default(param))


def _written_schemas(arguments: list[Argument]) -> list[Argument]:
    """Marks what is written, each by a letter of its own; a default that is followed by an argument without goes."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    marked = []
    for one in arguments:
        schema = one.schema
        if one.param.is_written and one.param.type in ("tensor", "tensors"):
            schema = schema.replace("Tensor", f"Tensor({next(letters)}!)", 1)
        marked.append(Argument(one.param, schema, one.kernel, one.meta, one.default))
    seen_required = False
    for position in range(len(marked) - 1, -1, -1):
        one = marked[position]
        if seen_required and one.default is not None:
            marked[position] = Argument(one.param, one.schema, one.kernel, one.meta)
        seen_required = seen_required or one.default is None
    return marked


def custom_operator(interface: Interface, function: Function) -> Custom:
    """The operator of a function. Raises `Unbound` where no schema can be formed."""
    if function.returns != "status" or not function.context:
        raise Unbound("is no operator")
    if function.deprecated is not None:
        raise Unbound("is deprecated")
    for param in function.params:
        if keyword.iskeyword(param.name):
            raise Unbound(f"{param.name} is a word of Python")
    has_gradient = function.backward_of is not None or any(
        other.backward_of == function.operator for other in interface.functions
    )
    shapes = _Shapes(function)
    custom = Custom(function)
    results: dict[str, Result] = {}
    for param in function.params:
        if param.type == "new_tensors":
            if not isinstance(param.count, int):
                raise Unbound(f"{param.name} is an array of tensors that the function makes, of any length")
            results[param.name] = Result(param)
        elif param.type == "new_tensor" or (param.type == "tensor" and param.is_written):
            result = _result(function, param, shapes, has_gradient)
            if result is not None:
                results[param.name] = result
    lengths = {param.count for param in function.params if isinstance(param.count, str)}
    arguments = []
    for param in function.params:
        if param.name in results:
            count = param.count if isinstance(param.count, int) else 1
            custom.results += [results[param.name]] * count
        elif has_gradient and _is_scratch(param):
            custom.scratch.append(param)
        elif param.name not in lengths:
            arguments.append(_argument(param, shapes.counts))
    if not any(one.param.type in ("tensor", "tensors") for one in arguments):
        raise Unbound("has no tensor whose device it runs on")
    custom.arguments = _written_schemas(arguments)
    custom.dimensions = shapes.used
    return custom


def _is_scratch(param: Parameter) -> bool:
    """Memory that a caller provides and does not look at: it is written, and any shape will do."""
    rule = param.shape.formula.expression if isinstance(param.shape, ShapeRule) else None
    return (
        param.type == "tensor"
        and param.direction == "inout"
        and not param.nullable
        and isinstance(rule, Call)
        and rule.function == "any"
    )


def _result(function: Function, param: Parameter, shapes: _Shapes, has_gradient: bool) -> Result | None:
    """The result, or None where it is an argument."""
    if param.type == "tensor" and (param.nullable or (param.direction != "out" and not has_gradient)):
        return None
    counts, used = set(shapes.counts), dict(shapes.used)
    try:
        like, dtype = _dtype(function, param)
        return Result(param, like, dtype, shapes.sizes(param), param.direction != "out")
    except Unbound:
        shapes.counts, shapes.used = counts, used
        return Result(param) if param.type == "new_tensor" else None


def operators(interface: Interface) -> tuple[list[Custom], dict[str, str]]:
    """The operators, and the functions without one with the reason."""
    found, reasons = [], {}
    for function in interface.functions:
        if function.aten or function.header == "diopirt.h":
            continue
        try:
            found.append(custom_operator(interface, function))
        except Unbound as reason:
            reasons[function.name] = str(reason)
    return found, reasons


def _returned(custom: Custom) -> str:
    kinds = ["at::Tensor"] * len(custom.results)
    if not kinds:
        return "void"
    return kinds[0] if len(kinds) == 1 else f"std::tuple<{', '.join(kinds)}>"


def _lines(head: str, items: Sequence[str], tail: str, depth: int = 2) -> list[str]:
    text = call_lines(head, items, tail, COLUMNS - 4 * depth)
    return [_INDENT * depth + line for line in text.split("\n")]


def _assigned(head: str, function: str, items: Sequence[str]) -> list[str]:
    """`head = function(items);`, broken behind the sign where that leaves one line for the call."""
    columns = COLUMNS - 8
    behind = call_lines(f"{head} = {function}", items, ";", columns).split("\n")
    below = [f"{head} =", *(f"    {line}" for line in call_lines(function, items, ";", columns - 4).split("\n"))]
    return below if 1 < len(behind) >= len(below) else behind


def _dimensions(custom: Custom) -> list[str]:
    return [f"const c10::SymInt {name} = {source};" for name, source in custom.dimensions.items()]


def _created(position: int, result: Result) -> list[str]:
    maker = "makeZeros" if result.zeros else "makeEmpty"
    return _assigned(f"at::Tensor result_{position}", maker, [result.like, result.dtype, result.sizes or ""])


def _make(custom: Custom) -> list[str]:
    """The results, of the sizes that the rules say."""
    head = f"static {_returned(custom)} make"
    items = [f"{a.meta} {a.name}" for a in custom.arguments]
    if not custom.results:
        return _lines(head, items, " {}", 1)
    body = _dimensions(custom)
    for position, result in enumerate(custom.results):
        body += _created(position, result)
    names = [f"result_{n}" for n in range(len(custom.results))]
    body.append("return result_0;" if len(names) == 1 else f"return {{{', '.join(names)}}};")
    return [*_lines(head, items, " {", 1), *(_INDENT * 2 + line for line in body), f"{_INDENT}}}"]


def _declared(one: Argument) -> tuple[list[str], str]:
    """What an argument needs before the call, and the expression for it."""
    param, name = one.param, one.name
    if param.type == "tensors":
        if param.is_written:
            return [f"OutputList {name}_written({name});"], f"{name}_written.data()"
        return [f"InputList {name}_read(call, {name});"], f"{name}_read.data()"
    if param.type == "tensor" and param.is_written:
        return [f"const Written {name}_written(call, {name});"], f"{name}_written"
    if param.type == "tensor":
        kind = "OptionalInput" if param.nullable else "Input"
        word = f"{name}_read"
        return [f"const {kind} {word}(call, {name});"], f"mutableOf({word})" if param.mutable else word
    if param.type == "sizes":
        return [], f"OptionalSizes({name})" if param.nullable else f"arrayOf({name})"
    if param.type == "scalar":
        return [], f"Number({name})"
    if param.type == "generator":
        return [], f"call.generator({name})"
    if param.type == "string":
        return [], f"std::string({name}).c_str()"
    if param.type == "diopiReduction_t":
        return [], f"reductionOf({name})"
    if param.type == "diopiRoundMode_t":
        return [], f"static_cast<diopiRoundMode_t>({name})"
    return [], f"Optional<{_NUMBERS[param.type]}>({name})" if param.nullable else name


def _run(custom: Custom) -> list[str]:
    """The call."""
    function = custom.function
    lines = _lines(f"static {_returned(custom)} run", [f"{a.kernel} {a.name}" for a in custom.arguments], " {", 1)
    body: list[str] = []
    device = next((one for one in custom.arguments if one.param.type == "tensor" and not one.param.nullable), None)
    if device is not None:
        body.append(f"Call call({device.name});")
    else:
        lists = next(one for one in custom.arguments if one.param.type in ("tensor", "tensors"))
        body.append(f"Call call(firstOf({lists.name}));")
    words: dict[str, str] = {}
    names = [f"result_{n}" for n in range(len(custom.results))]
    created = [n for n, result in enumerate(custom.results) if result.sizes is not None]
    if custom.is_shaped and names:
        passed = [one.name for one in custom.arguments]
        head = "at::Tensor result_0" if len(names) == 1 else f"auto [{', '.join(names)}]"
        body += _assigned(head, "make", passed)
    else:
        body += _dimensions(custom) if created else []
        for n in created:
            body += _created(n, custom.results[n])
    returned = []
    position = 0
    for result in dict.fromkeys(custom.results):
        param = result.param
        if param.type == "new_tensors":
            body.append(f"AllocatedList<{param.count}> {param.name}_made;")
            words[param.name] = f"{param.name}_made.data()"
            count = int(str(param.count))
            returned += [f"{param.name}_made.tensor({n})" for n in range(count)]
            position += count
            continue
        if param.type == "new_tensor":
            body.append(f"const Allocated {param.name}_made;")
            words[param.name] = f"{param.name}_made"
            returned.append(f"{param.name}_made.tensor()")
        else:
            words[param.name] = f"handle(result_{position})"
            returned.append(f"result_{position}")
        position += 1
    for one in custom.arguments:
        before, words[one.name] = _declared(one)
        body += before
    for param in custom.scratch:
        like, dtype = _dtype(function, param)
        body.append(f"at::Tensor {param.name} = makeEmpty({like}, {dtype}, Sizes{{0}});")
        words[param.name] = f"handle({param.name})"
    for param in function.params:
        if isinstance(param.count, str) and param.name in words:
            words.setdefault(param.count, words[param.name].removesuffix(".data()") + ".size()")
    items = [f'"{function.name}"', function.name, *(words[param.name] for param in function.params)]
    body += call_lines("call", items, ";", COLUMNS - 8).split("\n")
    if len(returned) == 1:
        body.append(f"return {returned[0]};")
    elif returned:
        body += _braced(returned)
    return [*lines, *(_INDENT * 2 + line for line in body), f"{_INDENT}}}"]


def _braced(items: Sequence[str]) -> list[str]:
    one = f"return {{{', '.join(items)}}};"
    if len(one) <= COLUMNS - 8:
        return [one]
    lines = call_lines("return ", items, ";", COLUMNS - 8).split("\n")
    return [line.replace("return (", "return {", 1).replace(");", "};") for line in lines]


def class_text(custom: Custom) -> str:
    """The class of an operator: what makes its results, and what runs it."""
    head = [f"// {custom.function.name}.", f"struct {custom.function.short_name} {{"]
    body = _run(custom)
    if custom.is_shaped:
        body = [*_make(custom), "", *body]
    return "\n".join([*head, *body, "};"])


def definition(custom: Custom) -> list[str]:
    """The line that defines the schema."""
    one = f'library.def("{custom.schema.replace(chr(34), chr(92) + chr(34))}");'
    if len(one) + 4 <= COLUMNS:
        return [one]
    pieces: list[str] = []
    for word in custom.schema.split(" "):
        escaped = word.replace('"', '\\"')
        if pieces and len(pieces[-1]) + len(escaped) + 1 <= COLUMNS - 16:
            pieces[-1] += f" {escaped}"
        else:
            if pieces:
                pieces[-1] += " "
            pieces.append(escaped)
    return ["library.def(", *(f'    "{piece}"' for piece in pieces[:-1]), f'    "{pieces[-1]}");']


def promotes(custom: Custom) -> bool:
    """Whether operands must have one dtype, which torch.autocast may have made different ones."""
    tensors = [one.param for one in custom.arguments if one.param.type == "tensor"]
    rules = [rule_of(param) for param in tensors if not param.is_written]
    return not any(param.is_written for param in tensors) and any(
        rule is not None and rule[0] == "same" for rule in rules
    )
