"""The text of one shim: the check that lets a call pass, and the conversion where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diopigen.config.model import FunctionRule
from diopigen.emit.adaptor.rules import Demand, RuleTable
from diopigen.emit.c_text import COLUMNS, call_lines, declarator
from diopigen.header.signature import c_function
from diopigen.ir.model import DtypeList, Function, Parameter

_INDENT = "    "
_TOGETHER = 3  # tensors that `fits` takes at most
_METHOD = {"in": "in", "out": "out", "inout": "inout", "partial_out": "inout"}
RESERVED = frozenset(
    {
        "Call",
        "Helpers",
        "Rule",
        "all_fit",
        "call",
        "caught",
        "dtype_of",
        "fits",
        "helpers",
        "impl",
        "missing",
        "pass",
    }
)
"""Names that shims use; no parameter of the interface may have them."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor parameter that the configuration says something about, or that the operator makes."""

    param: Parameter
    rule: str
    demand: Demand

    @property
    def is_created(self) -> bool:
        return self.param.type in ("new_tensor", "new_tensors")

    @property
    def is_array(self) -> bool:
        return self.param.type == "tensors"


def declaration(function: Function) -> str:
    """The declaration of the vendor's function."""
    return call_lines(_returns(function), _parameters(function) or ["void"], " DIOPI_ATTR_WEAK;")


def head(function: Function, tail: str) -> str:
    """The first lines of a definition of the public function, up to and with `tail`."""
    return call_lines(_returns(function), _parameters(function), tail)


def arguments(function: Function) -> list[str]:
    """The names of the parameters, the context first."""
    return [param.name for param in c_function(function).params]


def shim(function: Function, vendor: str, rule: FunctionRule | None, table: RuleTable, enums: Mapping[str, str]) -> str:
    """The definition of a public function over the vendor's. `rule` is None where nothing is to be converted."""
    target = f"impl::{vendor}::{function.name}"
    body = [f"if ({target} == nullptr) {{", f'{_INDENT}return missing(helpers, "{function.name}");', "}"]
    tensors = _tensors(function, rule, table)
    if tensors:
        body += _converting(function, target, tensors, enums)
    else:
        body += _call("return pass", target, function)
    lines = [head(function, " try {"), *(_indented(line) for line in body)]
    return "\n".join([*lines, "} catch (...) {", f'{_INDENT}return caught(helpers, "{function.name}");', "}"])


def _returns(function: Function) -> str:
    return declarator(c_function(function).returns, function.name)


def _parameters(function: Function) -> list[str]:
    """Parameters as a definition has them: tensors are replaced by temporaries, so that they are not constant."""
    texts = []
    for param in c_function(function).params:
        c_type = param.type
        if c_type.startswith("const diopi") and c_type.endswith("TensorHandle_t"):
            c_type = c_type.removeprefix("const ")
        texts.append(declarator(c_type, param.name))
    return texts


def _tensors(function: Function, rule: FunctionRule | None, table: RuleTable) -> list[_Tensor]:
    """The tensors that need a look. What the operator makes needs one where any dtype may change."""
    if rule is None or not function.context:
        return []
    rules = {tensor.param: tensor for tensor in rule.tensors}
    params = [p for p in function.params if p.type in ("tensor", "tensors", "new_tensor", "new_tensors")]
    demands = {param.name: table.demand(rules.get(param.name)) for param in params}
    casts = any(demand.casts for demand in demands.values())
    found = []
    for param in params:
        demand = demands[param.name]
        if param.type.startswith("new_"):
            if casts:
                found.append(_Tensor(param, "", demand))
        elif not demand.is_empty:
            found.append(_Tensor(param, table.name(demand), demand))
    return found


def _converting(function: Function, target: str, tensors: Sequence[_Tensor], enums: Mapping[str, str]) -> list[str]:
    lines = []
    existing = [tensor for tensor in tensors if not tensor.is_created]
    created = [tensor for tensor in tensors if tensor.is_created]
    # A new tensor may come in a dtype that its rule converts to, whatever the inputs are.
    if not any(tensor.demand.casts for tensor in created):
        lines += _condition(_fits(existing), " && ")
        lines += [_INDENT + line for line in _call("return pass", target, function, COLUMNS - 8)]
        lines.append("}")
    lines.append(f'Call call(helpers, ctx, "{function.name}");')
    counts = [_count(tensor.param) for tensor in existing if tensor.is_array]
    if counts:
        lines.append(f"call.expect({_sum(counts)});")
    # Before any input is replaced: the dtype of a new tensor may follow from that of an input.
    steps = [_create_call(tensor.param, enums) for tensor in created] + [_replaced(tensor) for tensor in existing]
    lines += _condition([f"!{step}" for step in steps], " || ")
    lines += [f"{_INDENT}return call.status();", "}"]
    lines += _call("return call.run", target, function)
    return lines


def _fits(tensors: Sequence[_Tensor]) -> list[str]:
    """The questions whether all tensors are as they should be: neighbours of one rule share a question."""
    found: list[str] = []
    together: list[_Tensor] = []
    for tensor in tensors:
        if tensor.is_array:
            found += _fits_together(together)
            together = []
            found.append(f"all_fit({tensor.rule}, {tensor.param.name}, {_count(tensor.param)})")
            continue
        if together and (together[0].rule != tensor.rule or len(together) == _TOGETHER):
            found += _fits_together(together)
            together = []
        together.append(tensor)
    return found + _fits_together(together)


def _fits_together(tensors: Sequence[_Tensor]) -> list[str]:
    if not tensors:
        return []
    return [f"fits({tensors[0].rule}, {', '.join(tensor.param.name for tensor in tensors)})"]


def _replaced(tensor: _Tensor) -> str:
    param = tensor.param
    count = f", {_count(param)}" if tensor.is_array else ""
    return f'call.{_METHOD[param.direction]}({tensor.rule}, "{param.name}", {param.name}{count})'


def _create_call(param: Parameter, enums: Mapping[str, str]) -> str:
    count = _count(param) if param.type == "new_tensors" else "1"
    return f'call.created("{param.name}", {param.name}, {count}, {_created_dtype(param, enums)})'


def _created_dtype(param: Parameter, enums: Mapping[str, str]) -> str:
    """The dtype that the interface defines: one, that of another tensor, or one of several."""
    if isinstance(param.dtype, DtypeList):
        if len(param.dtype.dtypes) == 1:
            return enums[param.dtype.dtypes[0]]
    elif param.dtype is not None:
        text = param.dtype.formula.text
        name = text.removeprefix("same(").removesuffix(")")
        if text == f"same({name})" and name.isidentifier():
            return f"dtype_of({name})"
    return "diopi_dtype_unsupported"


def _count(param: Parameter) -> str:
    return str(param.count)


def _sum(counts: Sequence[str]) -> str:
    return " + ".join(
        name if counts.count(name) == 1 else f"{counts.count(name)} * {name}" for name in dict.fromkeys(counts)
    )


def _condition(items: Sequence[str], operator: str) -> list[str]:
    """`if (a && b) {`, filled up to the right margin."""
    lines: list[str] = []
    column = len("if (")
    for position, item in enumerate(items):
        piece = item + (operator.rstrip() if position < len(items) - 1 else ") {")
        if lines and len(_INDENT) + column + len(lines[-1]) + 1 + len(piece) <= COLUMNS:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return [f"if ({lines[0]}", *(" " * column + line for line in lines[1:])]


def _call(start: str, target: str, function: Function, columns: int = COLUMNS - 4) -> list[str]:
    return call_lines(start, [target, *arguments(function)], ";", columns).split("\n")


def _indented(line: str) -> str:
    return _INDENT + line
