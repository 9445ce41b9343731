"""The resolved table for people and for programs: what holds for each tensor, and which line says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diopigen.config.model import Cast, FunctionRule, ResolvedConfig, TensorRule
from diopigen.diagnostics import Span, did_you_mean, failure
from diopigen.header.rules import ERROR, Rule, Rules
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.output import table

RULES: Rules = {"config-explain-name": Rule(ERROR, "--explain is asked about a function that has tensors")}

NOTHING = "-"
"""Text of a cell without a rule."""

_HEADS = ("tensor", "direction", "dtype", "from", "layout", "from")


def function_named(resolved: ResolvedConfig, interface: Interface, name: str) -> str:
    """The function that `name` means, with or without `diopi`. Raises `Failure` where the table has none."""
    known = [rule.function for rule in resolved.functions]
    full = name if name.startswith("diopi") else f"diopi{name}"
    if full in known:
        return full
    message = f"{full} has no tensors" if interface.function(full) else f"there is no function '{name}'"
    fix = did_you_mean(full, known) or "--explain without a name shows all"
    raise failure("config-explain-name", message, fix=fix)


def explain_function(resolved: ResolvedConfig, interface: Interface, name: str) -> str:
    """Each tensor of the function `name`, a row for each, under a line that says what becomes of the function."""
    rule = _rule(resolved, name)
    rows = [_HEADS, *_rows(rule, _functions(interface))]
    lines = table.lines(rows, left=range(len(_HEADS)))
    return "\n".join([f"{name}: {_fate(rule, resolved)}", "", *(f"  {line}" for line in lines)])


def explain_all(resolved: ResolvedConfig, interface: Interface) -> str:
    """Each tensor of each function that gets a shim, a row for each, and a line that counts the others."""
    shims = [rule for rule in resolved.functions if rule.function in resolved.implemented]
    functions = _functions(interface)
    rows: list[tuple[str, ...]] = [("function", *_HEADS)]
    for rule in shims:
        for number, row in enumerate(_rows(rule, functions)):
            rows.append((rule.function if number == 0 else "", *row))
    others = len(resolved.functions) - len(shims)
    return "\n".join(
        [
            *table.lines(rows, left=range(len(rows[0]))),
            "",
            f"{len(shims)} functions with a shim, {others} without an implementation",
        ]
    )


def as_json(resolved: ResolvedConfig, interface: Interface, name: str | None = None) -> dict[str, Any]:
    """The table as plain values; of one function where `name` is given, of all functions otherwise."""
    rules = resolved.functions if name is None else (_rule(resolved, name),)
    functions = _functions(interface)
    return {
        "vendor": resolved.vendor,
        "config": resolved.file,
        "functions": [
            {
                "name": rule.function,
                "implemented": rule.function in resolved.implemented,
                "tensors": [_json_tensor(tensor, _param(functions, rule, tensor)) for tensor in rule.tensors],
            }
            for rule in rules
        ],
    }


def _rule(resolved: ResolvedConfig, name: str) -> FunctionRule:
    return next((rule for rule in resolved.functions if rule.function == name), FunctionRule(name, ()))


def _fate(rule: FunctionRule, resolved: ResolvedConfig) -> str:
    if rule.function in resolved.implemented:
        passed = "" if rule.converts else "; its tensors are passed on as they are"
        return f"implemented by {resolved.vendor}{passed}{_limits(rule)}"
    return f"not implemented by {resolved.vendor}, so that it gets no shim"


def _limits(rule: FunctionRule) -> str:
    """Rank and alignment of the chip's file, the same for all tensors."""
    tensor = next(iter(rule.tensors), None)
    if tensor is None or tensor.max_rank is None:
        return ""
    copied = f", copied where they are not at multiples of {tensor.alignment} bytes" if tensor.alignment > 1 else ""
    return f"; with up to {tensor.max_rank} dimensions{copied}"


def _rows(rule: FunctionRule, functions: Mapping[str, Function]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for tensor in rule.tensors:
        layouts, layouts_from = _layout_cells(tensor)
        direction = _param(functions, rule, tensor).direction
        dtypes_from = _location(tensor.casts[0].span) if tensor.casts else NOTHING
        found.append((tensor.param, direction, _casts(tensor.casts), dtypes_from, layouts, layouts_from))
    return found


def _functions(interface: Interface) -> Mapping[str, Function]:
    return {function.name: function for function in interface.functions}


def _param(functions: Mapping[str, Function], rule: FunctionRule, tensor: TensorRule) -> Parameter:
    param = functions[rule.function].param(tensor.param)
    if param is None:
        raise ValueError(f"{rule.function} has no parameter {tensor.param}")
    return param


def _casts(casts: Sequence[Cast]) -> str:
    """As the file writes them: the dtypes of one target together, in order."""
    by_target: dict[str, list[str]] = {}
    for cast in casts:
        by_target.setdefault(cast.target, []).append(cast.source)
    return ", ".join(f"({', '.join(sources)})->{target}" for target, sources in by_target.items()) or NOTHING


def _layout_cells(tensor: TensorRule) -> tuple[str, str]:
    words = list(tensor.layouts) or (["ND"] if tensor.layouts_span else [])
    origins = [_location(tensor.layouts_span)] if words else []
    if tensor.common_layouts:
        words.append(f"else {', '.join(tensor.common_layouts)}")
        origins += [_location(span) for span in tensor.common_spans]
    if tensor.contiguous:
        words.append("contiguous")
        origins.append(_location(tensor.contiguous_span))
    return ", ".join(words) or NOTHING, ", ".join(dict.fromkeys(origins)) or NOTHING


def _location(span: Span | None) -> str:
    return f"{span.file}:{span.line}" if span else NOTHING


def _json_tensor(rule: TensorRule, param: Parameter) -> dict[str, Any]:
    return {
        "name": rule.param,
        "direction": param.direction,
        "casts": [
            {"source": cast.source, "target": cast.target, "from": _json_location(cast.span)} for cast in rule.casts
        ],
        "layouts": list(rule.layouts),
        "layouts_from": _json_location(rule.layouts_span),
        "other_layouts": list(rule.common_layouts),
        "other_layouts_from": [_json_location(span) for span in rule.common_spans],
        "contiguous": rule.contiguous,
        "contiguous_from": _json_location(rule.contiguous_span),
        **({"max_rank": rule.max_rank, "alignment": rule.alignment} if rule.max_rank is not None else {}),
    }


def _json_location(span: Span | None) -> dict[str, Any] | None:
    return {"file": span.file, "line": span.line, "column": span.column} if span else None
