"""Operators of the namespace `diopi` for the functions that no overload of ATen names: `torch.ops.diopi.nms_mmcv`.

What a function reads is an argument. An output whose shape and dtype the rules say is a result; any other tensor that
it writes is an argument that the schema marks as written. Functions of a gradient, and those that have one, make all
outputs that the rules say: what they add to starts from zeros.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field

from diopigen.emit.escaping import c_string
from diopigen.emit.torch.binding import BindingError
from diopigen.emit.torch.custom_shapes import Shapes, dtype_of
from diopigen.ir.model import Function, Interface, Parameter, ShapeRule
from diopigen.spec.expression import Call

NUMBERS = {"int64": "int64_t", "int32": "int32_t", "int": "int", "bool": "bool", "float": "float", "double": "double"}
"""Types of numbers of the interface in C++."""
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+(?:[0-9]+[a-z]+)*|[A-Z0-9]+")


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
    """Variables for sizes of results, and their definitions."""

    @property
    def name(self) -> str:
        return operator_name(self.function)

    @property
    def is_shaped(self) -> bool:
        """Returns whether all results are known without running."""
        return all(result.sizes is not None for result in self.results)

    @property
    def schema(self) -> str:
        items = [
            f"{one.schema} {one.name}{f'={one.default}' if one.default is not None else ''}" for one in self.arguments
        ]
        results = ["Tensor"] * len(self.results)
        returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return f"{self.name}({', '.join(items)}) -> {returned}"


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
        return c_string(value) if param.type == "string" else None
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
        raise BindingError(f"{param.name} has the type {param.type}, which schemas do not have")
    schema, kernel = kinds[param.type]
    if param.is_written and param.type not in ("tensor", "tensors", "generator"):
        raise BindingError(f"{param.name} is a number that the function writes")
    if param.type == "scalar" and param.nullable:
        schema, kernel = "Scalar?", "const std::optional<at::Scalar>&"
    elif param.type == "tensor" and param.nullable:
        schema, kernel = "Tensor?", "const std::optional<at::Tensor>&"
    elif param.type == "sizes" and param.nullable:
        schema, kernel = "int[]?", "at::OptionalIntArrayRef"
    elif param.nullable and param.type in NUMBERS:
        schema, kernel = f"{schema}?", f"std::optional<{kernel}>"
    elif param.nullable and param.type != "generator":
        raise BindingError(f"{param.name} is a list, or a member of one, that may be null")
    if param.sparse:
        raise BindingError(f"{param.name} is sparse; torch.sparse.mm calls the function")
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
    """The operator of a function. Raises `BindingError` where no schema can be formed."""
    if function.returns != "status" or not function.context:
        raise BindingError("is no operator")
    if function.deprecated is not None:
        raise BindingError("is deprecated")
    for param in function.params:
        if keyword.iskeyword(param.name):
            raise BindingError(f"{param.name} is a word of Python")
    has_gradient = function.backward_of is not None or any(
        other.backward_of == function.operator for other in interface.functions
    )
    shapes = Shapes(function)
    custom = Custom(function)
    results: dict[str, Result] = {}
    for param in function.params:
        if param.type == "new_tensors":
            if not isinstance(param.count, int):
                raise BindingError(f"{param.name} is an array of tensors that the function makes, of any length")
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
        raise BindingError("has no tensor whose device it runs on")
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


def _result(function: Function, param: Parameter, shapes: Shapes, has_gradient: bool) -> Result | None:
    """The result, or None where it is an argument."""
    if param.type == "tensor" and (param.nullable or (param.direction != "out" and not has_gradient)):
        return None
    counts, used = set(shapes.counts), dict(shapes.used)
    try:
        like, dtype = dtype_of(function, param)
        return Result(param, like, dtype, shapes.sizes(param), param.direction != "out")
    except BindingError:
        shapes.counts, shapes.used = counts, used
        return Result(param) if param.type == "new_tensor" else None


def operators(interface: Interface) -> tuple[list[Custom], dict[str, str]]:
    """The operators, and the functions without one with the reason."""
    found, reasons = [], {}
    for function in interface.functions:
        if function.aten or function.header == "diopirt.h" or function.is_collective:
            continue
        try:
            found.append(custom_operator(interface, function))
        except BindingError as reason:
            reasons[function.name] = str(reason)
    return found, reasons
