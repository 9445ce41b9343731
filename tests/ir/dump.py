"""An interface as text, a line for a thing, with nothing left out but places: what a reviewer reads as golden file."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.emit.prose import latitude_text, overload_text
from diopigen.ir.c_types import EnumType, HandleType, StructType
from diopigen.ir.model import Case, DtypeList, DtypeRule, Function, Header, Interface, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import to_text
from diopigen.spec.nodes import MappingNode, Node, SequenceNode


def node_text(node: Node) -> str:
    if isinstance(node, MappingNode):
        return "{" + ", ".join(f"{key}: {node_text(entry.value)}" for key, entry in node.entries.items()) + "}"
    if isinstance(node, SequenceNode):
        return "[" + ", ".join(node_text(item) for item in node) + "]"
    return repr(node.value)


def case_text(case: Case) -> str:
    return ", ".join(f"{name}={node_text(node)}" for name, node in case.arguments.items())


def dtype_text(param: Parameter) -> str:
    if isinstance(param.dtype, DtypeList):
        return f"{'|'.join(param.dtype.names)} = {' '.join(param.dtype.dtypes)}"
    return to_text(param.dtype.formula.expression) if isinstance(param.dtype, DtypeRule) else ""


def shape_text(param: Parameter) -> str:
    if isinstance(param.shape, ShapeRule):
        return to_text(param.shape.formula.expression)
    if not isinstance(param.shape, ShapeList):
        return ""
    mark = {"formula": "", "variadic": "*", "unknown": ""}
    return f"[{', '.join(mark[d.kind] + to_text(d.formula.expression) for d in param.shape.dimensions)}]"


def param_line(param: Parameter) -> str:
    parts = [f"    {param.direction or '-'} {param.name}: {param.type}"]
    parts += [f"dtype {dtype_text(param)}"] if param.dtype else []
    parts += [f"shape {shape_text(param)}"] if param.shape else []
    parts += [f"count {param.count!r}"] if param.count is not None else []
    parts += [f"default {param.default.value!r}"] if param.default else []
    parts += [f"values {'|'.join(param.values)}"] if param.values else []
    parts += [f"{key.name} {key.form if isinstance(key.form, str) else key.text or key.form}" for key in param.keys]
    parts += [f"example {param.example.value!r}"] if param.example else []
    if param.unordered:
        parts += [f"unordered along {param.unordered.along} where {param.unordered.where.text}"]
    if param.ties:
        of = f" of {param.ties.of} along {param.ties.along}" if param.ties.of else ""
        parts += [f"ties{of} where {param.ties.where.text}"]
    parts += [f"domain {param.domain.text}"] if param.domain else []
    parts += [f"typical {param.typical.text}"] if param.typical else []
    if held := param.elements:
        parts += [f"{held.count.text} elements of {held.of}"]
        parts += [f"on {held.on.text}"] if held.on else []
        parts += [f"in place at {held.in_place.buffer} + {held.in_place.offset.text}"] if held.in_place else []
    parts += [f"shares {param.shares}"] if param.shares else []
    parts += [param.c_type] if param.c_type else []
    flags = ("nullable", "const", "mutable", "pointer", "unnamed", "sparse")
    parts += [flag for flag in flags if getattr(param, flag)]
    return "; ".join([*parts, param.doc])


def function_lines(function: Function) -> Iterator[str]:
    f = function
    yield f"  {f.name} ({f.operator}, {f.variant}): {f.doc}"
    facts = [
        f.family,
        "weak" if f.weak else "strong",
        f.returns,
        "context" if f.context else "no context",
        f"since {f.since}",
    ]
    facts += [f"tolerance {f.tolerance}"] if f.tolerance else []
    facts += [f"unspecified {', '.join(f.unspecified)}"] if f.unspecified else []
    facts += [latitude_text(f.latitude)] if f.latitude else []
    facts += [f"work {name} = {to_text(formula.expression)}" for name, formula in f.work]
    facts += [f"gradient of {f.backward_of}"] if f.backward_of else []
    yield f"    {', '.join(facts)}"
    for label, text in (("deprecated", f.deprecated), ("order", f.irregular_order), ("source", f.source)):
        if text is not None:
            yield f"    {label}: {text}"
    if f.aten:
        yield f"    aten: {' '.join(map(overload_text, f.aten))}"
        yield from (f"      {one.name}: {dict(one.names)}" for one in f.aten if one.names)
    for fused in f.fused:
        yield f"    fused: {fused.name or 'functional overloads'} as {fused.form}"
    if f.by_hand:
        yield f"    by hand: {f.by_hand}"
    if f.starter:
        yield f"    starter: {f.starter}"
    if f.planned or f.functional:
        yield f"    planned: {f.planned}, functional: {f.functional or 'none'}"
    yield from map(param_line, f.params)
    if f.kernel is not None:
        yield from (f"    let {name} = {to_text(formula.expression)}" for name, formula in f.kernel.lets)
        yield from (f"    {name} <- {to_text(formula.expression)}" for name, formula in f.kernel.results)
    for c in f.constraints:
        require = f" [{to_text(c.require.expression)}]" if c.require is not None else ""
        yield f"    {c.id}: {c.text}{require} by {c.checked} -> {c.error}"
        if c.key is None:
            yield f"      {'breach: ' + case_text(c.case) if c.case else 'untestable: ' + str(c.untestable)}"
    yield from (f"    case: {case_text(case)}" for case in f.cases)


def header_lines(header: Header) -> Iterator[str]:
    yield f"header {header.file}: {header.doc}"
    order = " ".join(name for name, _ in header.order)
    yield f"  includes {' '.join(header.includes) or 'nothing'}; order {order or 'free'}"
    for function in header.functions:
        yield from function_lines(function)


def _header(named: EnumType | StructType | HandleType) -> str:
    return f" in {named.header}" if named.header else ""


def interface_lines(interface: Interface) -> Iterator[str]:
    i = interface
    yield f"version {i.version}, types in {i.types_header}, aten of {', '.join(i.aten.releases)}"
    yield from (f"file {file}" for file in i.files)
    yield from (f"family {family}: {doc}" for family, doc in i.family_docs.items())
    for enum in i.enums:
        yield f"enum {enum.name}{_header(enum)}: {enum.doc}"
        yield from (f"  {value.name} = {value.value}{' (alias)' * value.alias}: {value.doc}" for value in enum.values)
    for struct in i.structs:
        yield f"struct {struct.name}{_header(struct)}, {struct.size} bytes, aligned to {struct.align}: {struct.doc}"
        yield from (f"  at {field.offset} {field.c_type} {field.name}: {field.doc}" for field in struct.fields)
    yield from (f"handle {handle.name}{_header(handle)} = {handle.c_type}: {handle.doc}" for handle in i.handles)
    yield from (f"dtype {d.name} = {d.enum}, {d.bytes} bytes, {d.kind}" for d in i.dtypes)
    yield from (f"set {s.name} = {' '.join(s.dtypes)}: {s.doc}" for s in i.dtype_sets)
    for device in i.device_functions:
        yield f"device {device.returns} {device.name}, by {device.register}, linked {device.linked_name}: {device.doc}"
        yield f"  without it {device.missing_error}"
        yield from (f"  {param.c_type} {param.name}: {param.doc}" for param in device.params)
    yield from (f"schema {name}: {schema}" for name, schema in i.aten.schemas.items())
    for header in i.headers:
        yield from header_lines(header)
    yield from (f"{name} is in {file}" for name, file in i.file_of.items())
