"""Kernels for operators of PyTorch without a meta function: the spec's rules say shapes and dtypes of their results.

An operator of elements goes through PyTorch's TensorIterator, which broadcasts, promotes and checks the tensors that
the caller gives. A result of any other has the shape and the dtype that `_shape` and `_dtype` find in the rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from diopigen.emit.c_text import COLUMNS, call_lines, wrapped
from diopigen.emit.torch.arguments import CONVERSIONS, TensorArguments, call_items, rule_of, statement
from diopigen.emit.torch.binding import Binding, BindingError, bind
from diopigen.emit.torch.forms import Family, Forms, derived_text, wrapper_name, written_by
from diopigen.emit.torch.schema import schema_of, signature
from diopigen.ir.aten import AtenSchema
from diopigen.ir.model import DtypeList, Function, Interface, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import Call, Name

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class RuledKernel:
    """The kernels of an operator, what they are registered for, and their text."""

    overloads: tuple[tuple[str, str], ...]
    """Each overload with the C++ function that serves it."""
    text: str


def _is_elementwise(function: Function, binding: Binding) -> bool:
    tensors = [param for param in function.params if param.type in ("tensor", "tensors") and param.direction == "in"]
    provided = [binding.arguments.get(param.name) for param in tensors]
    return function.kernel is not None and all(one is not None and not one.optional for one in provided)


def _promotion(output: Parameter) -> str:
    """Promotion mode of the iterator; empty if the operands' common dtype is that of the result."""
    if isinstance(output.dtype, DtypeList):
        if set(output.dtype.dtypes) <= {"bool", "uint8"}:
            return "Promotion::kBoolean"
        raise BindingError(f"has a result, {output.name}, whose dtype the rules do not say")
    rule = rule_of(output)
    name = rule[0] if rule is not None else ""
    if name not in ("same", "promote", "to_float"):
        raise BindingError(f"has a result, {output.name}, whose dtype the rules do not say")
    return "Promotion::kReal" if name == "to_float" else ""


def _operand(binding: Binding, name: str) -> str:
    argument = binding.arguments.get(name)
    if argument is None or argument.type != "Tensor" or argument.is_list or argument.optional:
        raise BindingError(f"has no tensor for {name}")
    return argument.name


def _shape(output: Parameter, binding: Binding) -> str:
    """The sizes of a result."""
    if isinstance(output.shape, ShapeList) and not output.shape.dimensions:
        return "{}"
    if isinstance(output.shape, ShapeRule):
        expression = output.shape.formula.expression
        if isinstance(expression, Call) and expression.function == "same":
            (of,) = expression.arguments
            if isinstance(of, Name):
                return f"{_operand(binding, of.name)}.sizes()"
    raise BindingError(f"has a result, {output.name}, whose shape the rules do not say")


def _dtype(output: Parameter, binding: Binding) -> tuple[str, str]:
    """The operand that a result is like, and what its dtype is; empty where it is that operand's."""
    rule = rule_of(output)
    if rule is not None and rule[0] in ("same", *CONVERSIONS):
        like = _operand(binding, rule[1][0])
        helper = CONVERSIONS.get(rule[0])
        return like, f"{helper}({like}.scalar_type())" if helper is not None else ""
    raise BindingError(f"has a result, {output.name}, whose dtype the rules do not say")


def _elementwise(function: Function, schema: AtenSchema, binding: Binding) -> list[str]:
    """Shapes the result by an iterator, and says the dtype to compute in."""
    (out,) = written_by(schema)
    (output,) = binding.outputs
    promotion = _promotion(output)
    read = [binding.arguments[p.name].name for p in function.params if p.type == "tensor" and p.direction == "in"]
    items = [out, f"{{{', '.join(f'&{name}' for name in read)}}}", *([promotion] if promotion else [])]
    return call_lines("const at::ScalarType type = shape_elementwise", items, ";", COLUMNS - 4).split("\n")


def _like(function: Function, schema: AtenSchema, binding: Binding) -> list[str]:
    """Shapes the results by the rules, and has PyTorch reject dimensions that are out of range."""
    lines = []
    for param in function.params:
        argument = binding.arguments.get(param.name)
        of = next((str(key.form) for key in param.keys if key.name == "dim_of"), None)
        if of is not None and argument is not None and param.type == "int64" and not argument.optional:
            lines.append(f"at::maybe_wrap_dim({argument.name}, {_operand(binding, of)}.dim());")
    for output, name in zip(binding.outputs, written_by(schema), strict=True):
        like, dtype = _dtype(output, binding)
        options = f"{like}.options(){f'.dtype({dtype})' if dtype else ''}"
        lines += call_lines("make_or_shape", [name, _shape(output, binding), options], ";", COLUMNS - 4).split("\n")
    return lines


def _implementation(function: Function, schema: AtenSchema) -> list[str]:
    """The form that writes to given tensors, which it makes where they are undefined."""
    binding = bind(function, schema)
    results = tuple(written_by(schema))
    if len(binding.outputs) != len(results):
        raise BindingError(f"has {len(results)} results, and the function {len(binding.outputs)}")
    is_elementwise = _is_elementwise(function, binding) and len(results) == 1
    shaping = (_elementwise if is_elementwise else _like)(function, schema, binding)
    tensors = TensorArguments(function, binding, is_elementwise, results)
    tensors.declare()
    own = signature(schema)
    returned = results[0] if len(results) == 1 else f"{{{', '.join(results)}}}"
    items = call_items(function, binding, tensors.words, tensors.dtype)
    if is_elementwise and not any(" type" in line for line in tensors.lines):
        raise BindingError("has operands of no common dtype")
    return [
        *call_lines(f"{own.result} {wrapper_name(schema)}", own.texts, " {").split("\n"),
        *(_INDENT + line for line in shaping),
        f"{_INDENT}Call call({results[0]});",
        *(_INDENT + line for line in tensors.lines),
        *statement(function, items),
        *(f"{_INDENT}{tensors.words[output.name]}.finish();" for output in binding.outputs),
        f"{_INDENT}return {returned};",
        "}",
    ]


def _owner(interface: Interface, family: Family) -> Function | None:
    """The function that serves the form that writes to given tensors, or the one that makes them."""
    for overload in (family.out, family.functional):
        if overload is not None and overload in interface.functions_of_overloads:
            return interface.functions_of_overloads[overload]
    return None


def ruled_kernel(interface: Interface, family: Family, served: frozenset[str]) -> RuledKernel:
    """The kernels of a family, for those of its forms that a new device needs and that are not `served`. Raises
    `BindingError`."""
    function = _owner(interface, family)
    if family.out is None or function is None:
        raise BindingError("is no structured operator")
    schema = schema_of(interface, family.out)
    assert schema is not None
    required = [name for name in family.members if name in interface.aten.needed and name not in served]
    others = [schema_of(interface, name) for name in required if name != family.out]
    forms = Forms(schema, wrapper_name(schema), tuple(other for other in others if other is not None))
    texts = ["\n".join(_implementation(function, schema)), *(derived_text(forms, other) for other in forms.derived)]
    head = "\n".join(wrapped(f"{', '.join(required)}: {function.name}.", "// ", "// "))
    names = {name: wrapper_name(other) for name, other in ((o.name, o) for o in (schema, *forms.derived))}
    return RuledKernel(
        tuple((name, names[name]) for name in sorted(required)), "\n\n".join([head + "\n" + texts[0], *texts[1:]])
    )
