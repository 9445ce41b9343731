"""Kernels for the structured operators of PyTorch: its meta functions give the outputs, the interface fills them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from diopigen.emit.c_text import COLUMNS, call_lines, wrapped
from diopigen.emit.torch.arguments import TensorArguments, call_items, statement
from diopigen.emit.torch.binding import Binding, BindingError, bind
from diopigen.emit.torch.schema import Signature, operator_class, operator_header, schema_of, signature
from diopigen.ir.aten import AtenSchema
from diopigen.ir.aten_model import StructuredGroup
from diopigen.ir.model import BASE, Function, Interface

_INDENT = "    "
_REFERENCES = {
    "const std::optional<at::Tensor>&": "reference",
    "const std::optional<at::Scalar>&": "reference",
    "const c10::List<std::optional<at::Tensor>>&": "at::IOptTensorListRef",
}


@dataclass(frozen=True, slots=True)
class StructuredKernel:
    """The kernels of a group: the namespace that they are in, its text, and what registers them."""

    group: StructuredGroup
    functions: tuple[str, ...]
    """Functions of the interface that are called."""
    text: str

    @property
    def headers(self) -> set[str]:
        """The headers of PyTorch that declare the group."""
        base = self.group.functional.partition(".")[0]
        return {operator_header(self.group.functional), f"ATen/ops/{base}_meta.h"}

    @property
    def registrations(self) -> list[str]:
        """The lines that register the group."""
        return registrations(self.group)


def registrations(group: StructuredGroup) -> list[str]:
    """A line for each overload of a group."""
    forms = [("functional", group.functional), ("inplace", group.inplace), ("out", group.out)]
    return [
        f"implement<{operator_class(overload)}, &{group.meta}::{form}>(library);"
        for form, overload in forms
        if overload is not None
    ]


def scalar_forms(interface: Interface, function: Function) -> list[tuple[Function, str]]:
    """The functions that take a number for one of the tensors, each with that parameter."""
    if function.variant != BASE:
        return []
    names = {param.name for param in function.params}
    tensors = {param.name for param in function.params if param.type == "tensor" and param.direction == "in"}
    found = []
    for other in interface.functions:
        if other.operator != function.operator or other.variant != "scalar":
            continue
        numbers = [p.name for p in other.params if p.type == "scalar" and p.name in tensors]
        if len(numbers) == 1 and {p.name for p in other.params} == names:
            found.append((other, numbers[0]))
    return found


def _scalar_branch(
    group: StructuredGroup, other: Function, operand: str, binding: Binding, tensors: TensorArguments
) -> list[str]:
    """The branch for a number in the place of the tensor `operand`: the function that takes one."""
    name = binding.arguments[operand].name
    number = f"number_for({name}, type)" if group.iterator else f"{name}.item()"
    words = {**tensors.words, operand: f"Number({number})"}
    finish = [f"{_INDENT * 2}{tensors.words[output.name]}.finish();" for output in binding.outputs]
    body = statement(other, call_items(other, binding, words, tensors.dtype), 2)
    return [f"{_INDENT}if (is_number({name})) {{", *body, *finish, f"{_INDENT * 2}return;", f"{_INDENT}}}"]


def _run(
    interface: Interface, group: StructuredGroup, function: Function, schema: AtenSchema
) -> tuple[list[str], list[str]]:
    """`run`, which fills the outputs; and the functions that it calls."""
    binding = bind(function, schema)
    results = tuple(argument.name for argument in schema.arguments if argument.written and argument.keyword_only)
    tensors = TensorArguments(function, binding, group.iterator, results)
    tensors.declare()
    called, branches, late = [function.name], [], []
    for other, operand in scalar_forms(interface, function):
        argument = binding.arguments.get(operand)
        if argument is not None and not argument.optional:
            called.append(other.name)
            branches += _scalar_branch(group, other, operand, binding, tensors)
            late += [line for line in tensors.lines if f" {argument.name}_read(" in line]
    written = [output for output in binding.outputs if output.name in tensors.words]
    # What a branch does not need is made after it, unless there are several.
    first = tensors.lines if len(called) > 2 else [line for line in tensors.lines if line not in late]
    lines = [
        *_head(schema, results, group),
        *(_INDENT + line for line in _scales(schema, binding)),
        f"{_INDENT}Call call({results[0]});",
        *(_INDENT + line for line in first),
        *branches,
        *(_INDENT + line for line in late if line not in first),
        *statement(function, call_items(function, binding, tensors.words, tensors.dtype)),
        *(f"{_INDENT}{tensors.words[output.name]}.finish();" for output in written),
        "}",
    ]
    return lines, called


def _scales(schema: AtenSchema, binding: Binding) -> list[str]:
    """Declines scales that differ from the ratio of the sizes; where corners are aligned, sizes alone count."""
    if not binding.scales:
        return []
    names = {argument.name for argument in schema.arguments}
    if "output_size" not in names or not {"input_size", "self"} & names:
        raise BindingError(f"has no sizes that {', '.join(binding.scales)} could repeat")
    before = "input_size" if "input_size" in names else "self.sizes()"
    depth = 2 if "align_corners" in names else 1
    items = [before, "output_size", f"{{{', '.join(binding.scales)}}}"]
    lines = call_lines("require_own_scales", items, ";", COLUMNS - 4 * depth).split("\n")
    if depth == 1:
        return lines
    return ["if (!align_corners) {", *(_INDENT + line for line in lines), "}"]


def inputs_of(schema: AtenSchema) -> list[tuple[str, str]]:
    """Type and name of what an out overload takes, without what it writes."""
    own = signature(schema, structured=True)
    return [
        part
        for part, argument in zip(own.parameters, schema.arguments, strict=True)
        if not (argument.written and argument.keyword_only)
    ]


def run_parameters(schema: AtenSchema, results: tuple[str, ...], group: StructuredGroup) -> list[str]:
    """The parameters of `run`."""
    kinds = ["at::ScalarType type"] if group.iterator else []
    return [*(f"at::Tensor& {name}" for name in results), *kinds, *(f"{k} {n}" for k, n in inputs_of(schema))]


def _head(schema: AtenSchema, results: tuple[str, ...], group: StructuredGroup) -> list[str]:
    return call_lines("void run", run_parameters(schema, results, group), " {").split("\n")


def _meta_argument(kind: str, name: str) -> str:
    reference = _REFERENCES.get(kind)
    return name if reference is None else f"{reference}({name})"


def _form(group: StructuredGroup, schema: AtenSchema, form: str, sign: Signature, count: int, runner: str) -> list[str]:
    """One of the three kernels of a group."""
    inputs = inputs_of(schema)
    own: dict[str, list[str]] = {"functional": [], "inplace": ["self"], "out": sign.names[len(sign.names) - count :]}
    provided = own[form]
    operands = [_meta_argument(kind, name) for kind, name in inputs]
    called = "op.infer" if group.alike else "op.meta"
    alike = [f"Alike::k{group.alike.capitalize()}"] if group.alike else []
    meta = call_lines(called, [*alike, *operands], ";", COLUMNS - 4).split("\n")
    first = next((name for kind, name in inputs if kind == "const at::Tensor&"), "")
    kind = [f"op.type({first}.scalar_type())"] if group.iterator else []
    items = [*(f"op.output({number})" for number in range(count)), *kind, *(name for _, name in inputs)]
    run = call_lines(runner, items, ";", COLUMNS - 4).split("\n")
    constructed = f"(Form::k{form.capitalize()}, {', '.join(provided)})" if provided else ""
    outputs = [f"op.output({number})" for number in range(count)] if form == "functional" else provided
    moved = [f"std::move({text})" if form == "functional" else text for text in outputs]
    result = moved[0] if count == 1 else f"{{{', '.join(moved)}}}"
    if count > 1 and form != "functional":
        result = f"std::tie({', '.join(moved)})"
    return [
        *call_lines(f"{sign.result} {form}", sign.texts, " {").split("\n"),
        f"{_INDENT}Shaped<at::meta::structured_{group.meta}, {count}> op{constructed};",
        *(_INDENT + line for line in meta),
        *(_INDENT + line for line in run),
        f"{_INDENT}return {result};",
        "}",
    ]


def structured_kernel(
    interface: Interface, group: StructuredGroup, function: Function, handwritten: Mapping[str, str]
) -> StructuredKernel:
    """The kernels of a group. `handwritten` gives the C++ functions that stand for `run`, by out overload. Raises
    `BindingError`."""
    schema = schema_of(interface, group.out)
    assert schema is not None
    count = sum(argument.written and argument.keyword_only for argument in schema.arguments)
    runner, called = "run", [function.name]
    lines: list[str] = []
    if group.out in handwritten:
        runner = f"kernels::{handwritten[group.out]}"
    else:
        lines, called = _run(interface, group, function, schema)
        lines.append("")
    for form, overload in (("functional", group.functional), ("inplace", group.inplace), ("out", group.out)):
        own = schema_of(interface, overload) if overload is not None else None
        if own is not None:
            lines += [*_form(group, schema, form, signature(own, structured=True), count, runner), ""]
    names = ", ".join(overload for overload in (group.functional, group.inplace, group.out) if overload is not None)
    serves = runner if group.out in handwritten else ", ".join(called)
    head = [*wrapped(f"{names}: {serves}.", "// ", "// "), f"namespace {group.meta} {{", ""]
    return StructuredKernel(group, tuple(called), "\n".join([*head, *lines, f"}}  // namespace {group.meta}"]))


__all__ = ["BindingError", "StructuredKernel", "inputs_of", "run_parameters", "scalar_forms", "structured_kernel"]
