"""Elementwise kernels for a vendor whose device runs C++ functions: expressions of the spec over the vendor's loop.

A kernel computes in floating numbers of one dtype, and in integers and bools where its expression has a meaning for
them. Whatever else an operator takes (complex numbers, a mix of dtypes) is left to the fallback, and operators of
another kind are left to handwritten code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen.emit.c_text import call_lines, declarator, wrapped
from diopigen.emit.constraint_forms import check_of, plain_condition, promotion_of
from diopigen.emit.cpp_lines import Statement, fit
from diopigen.emit.cpp_text import Backend, UnsupportedExpressionError
from diopigen.emit.cpu.kernels import allowed, rule_operands, tensor_functions
from diopigen.emit.element_expression import Constant, ElementPrinter
from diopigen.emit.elementwise.integers import (
    INTEGERS,
    divides_integers,
    number_text,
    takes_bools,
    takes_integers,
)
from diopigen.emit.escaping import c_string
from diopigen.emit.host_expression import HostPrinter
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import header_files, spec_files
from diopigen.emit.templates import render
from diopigen.header.signature import c_function
from diopigen.ir.model import Constraint, DtypeList, Function, Interface, Parameter, ShapeRule
from diopigen.ir.promotion import rounded_numbers
from diopigen.spec.expression import Call, Name, to_text, walk

TEMPLATE = "elementwise/kernels.cpp.j2"

_STANDARD = (
    "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "floor", "ceil", "trunc", "isnan", "isinf",
    "isfinite", "atan2", "hypot", "pow",
)  # fmt: skip
_OWN = {
    "abs": "absolute", "min": "minimum", "max": "maximum", "sign": "sign", "sgn": "sign", "where": "where",
    "conj": "conjugate", "rsqrt": "rsqrt", "reciprocal": "reciprocal", "sigmoid": "sigmoid", "to_bool": "isTrue",
    "is_null": "is_null", "to_float": "to_float", "trunc_div": "truncDivide", "floor_div": "floorDivide",
    "//": "floorDivide", "%": "floorRemainder", "**": "std::pow",
}  # fmt: skip
_BACKEND = Backend({**{name: f"std::{name}" for name in _STANDARD}, **_OWN})
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_LOCALS = {"element": "T", "real": "T", "bool": "bool", "integer": "int64_t"}
_MEMBERS = {"element": "double", "bool": "bool", "integer": "int64_t"}
# Constraints that hold for all floating operands, by the check that the CPU library makes of them.
_ABOUT_INTEGERS = frozenset(
    {"require_no_fraction", "require_no_negative", "reject_zero", "require_roundable", "require_in_range",
     "require_in_promoted_range", "require_castable_operand"}
)  # fmt: skip
_INDENT = " " * 4


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel as a function object, and the operator that runs it."""

    comment: list[str]
    name: str
    operands: int
    results: int
    takes_integers: bool
    takes_bools: bool
    numbers: str
    """The condition that the numbers of a call are integers of the type T."""
    members: list[str]
    lines: list[str]
    function: str
    constants: list[tuple[str, str, str]]
    """Members with their types and, as C++ text over the function's parameters, their values."""
    divides_integers: bool
    """True if it takes integers where none of them is divided by 0."""


FOLDER = "functions_elementwise"
"""The folder below impl/NAME with the generated kernels; like `functions` it counts as kernels."""


def expressible(interface: Interface) -> tuple[Function, ...]:
    """The functions that there can be a kernel for, in the order of the interface."""
    return tuple(function for function in tensor_functions(interface) if _is_expressible(function, _FLOATS))


def fusible_functions(interface: Interface) -> tuple[Function, ...]:
    """Those of them, and the ones that compute integers alone."""
    both = (_FLOATS, INTEGERS)
    return tuple(
        function
        for function in tensor_functions(interface)
        if any(_is_expressible(function, dtypes) for dtypes in both)
    )


def emit_elementwise(
    interface: Interface, templates: Path, vendor: str, functions: Iterable[Function], command: str
) -> Plan:
    """`kernels.cpp` with the given functions, which are among the `expressible` ones, in `impl::VENDOR`."""
    selected = list(functions)
    values = {
        "vendor": vendor,
        "command": command,
        "headers": header_files(interface, selected),
        "kernels": [_kernel(function) for function in selected],
    }
    inputs = (*spec_files(interface, selected), "specs/types.yaml", f"templates/{TEMPLATE}")
    return Plan((PlannedFile("kernels.cpp", render(templates, TEMPLATE, values), inputs, "vendor"),))


def _is_expressible(function: Function, dtypes: Sequence[str]) -> bool:
    """Returns whether kernel, dtypes, shapes and constraints are all of the kind that a loop over such elements can
    take."""
    tensors = _tensors(function)
    assert function.kernel is not None
    formulas = [formula.expression for _, formula in (*function.kernel.lets, *function.kernel.results)]
    words = {part.function for formula in formulas for part in walk(formula) if isinstance(part, Call)}
    is_copy = len(formulas) == 1 and isinstance(formulas[0], Name) and formulas[0].name in {p.name for p in tensors}
    return (
        not is_copy  # moving elements is about dtypes and layouts
        and all(param.type in ("tensor", "scalar", "string") or not param.is_written for param in function.params)
        and not any(param.type in ("tensors", "sizes") for param in function.params)
        and words <= {*_STANDARD, *_OWN}
        and all(_fits_loop(param) and (_is_mask(param) or _takes(function, param, dtypes)) for param in tensors)
        and any(not _is_mask(param) for param in tensors)
        and all(_is_understood(function, constraint) for constraint in function.constraints)
        and _can_print(function)
    )


def _fits_loop(param: Parameter) -> bool:
    """Returns whether the shape is that of the results, or broadcasts to it."""
    if isinstance(param.shape, ShapeRule):
        rule = param.shape.formula.expression
        return isinstance(rule, Call) and rule.function in ("same", "broadcast", "broadcastable", "any")
    return param.shape is None


def _is_understood(function: Function, constraint: Constraint) -> bool:
    if plain_condition(function, constraint) is not None:
        return True
    return check_of(constraint)[0] in _ABOUT_INTEGERS or promotion_of(constraint) is not None


def _can_print(function: Function) -> bool:
    try:
        _kernel(function)
    except UnsupportedExpressionError:
        return False
    return True


def _tensors(function: Function) -> list[Parameter]:
    return [param for param in function.params if param.type == "tensor"]


def _is_mask(param: Parameter) -> bool:
    return isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) <= {"bool", "uint8"}


def _takes(function: Function, param: Parameter, dtypes: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in dtypes if name in allowed(function, param))


def _floats(function: Function, param: Parameter) -> tuple[str, ...]:
    return _takes(function, param, _FLOATS)


def _kernel(function: Function) -> KernelText:
    """The function object and the operator. Raises `UnsupportedExpressionError`."""
    kernel = function.kernel
    assert kernel is not None
    operands = [param for param in _tensors(function) if param.is_read]
    params = {param.name: param for param in function.params}
    host = HostPrinter(_BACKEND, params, {})
    printer = ElementPrinter(
        _BACKEND,
        host,
        {},
        lets={param.name: "bool" if _is_mask(param) else "element" for param in operands},
        taken={*params, *(name for name, _ in kernel.lets)},
    )
    statements: list[Statement] = []
    for name, formula in kernel.lets:
        statements.append(Statement(name, formula.expression))
        printer.lets[name] = fit(statements, printer, len(statements) - 1, 8)
    bool_results = set()
    for k, (name, formula) in enumerate(kernel.results):
        statements.append(Statement(f"results[{k}]", formula.expression, is_store=True))
        kind = fit(statements, printer, len(statements) - 1, 8)
        if kind not in ("element", "bool"):
            raise UnsupportedExpressionError(f"a result of the kind '{kind}'")
        bool_results |= {name} if kind == "bool" else set()
    lines = [_operand_line(k, param) for k, param in enumerate(operands)]
    lines += [_constant_line(function, constant) for constant in printer.constants]
    for statement in statements:
        line = statement.line(_LOCALS)
        lines += [line.replace("= Bool(", "= T(", 1) if statement.is_store else line] if line else []
    comment = [f"{name} = {to_text(f.expression)}" for name, f in (*kernel.lets, *kernel.results)]
    numbers = [each for each in printer.constants if _number(function, each) is not None]
    integers = takes_integers(function, printer)
    bools = integers and takes_bools(function)
    dtypes = (*(INTEGERS if integers else ()), *(("bool",) if bools else ()))
    return KernelText(
        [part for line in comment for part in wrapped(line, "// ", "//     ")],
        function.short_name,
        len(operands),
        len(kernel.results),
        integers,
        bools,
        " && ".join(_fits(function, name) for name in numbers) or "true",
        [f"{_member_type(function, constant)} {constant.name}_;" for constant in printer.constants],
        lines,
        _function_text(function, host, operands, printer.constants, bool_results, dtypes),
        [(c.name, _member_type(function, c), _value(function, host, c)) for c in printer.constants],
        divides_integers(function, printer),
    )


def kernel_text(function: Function) -> KernelText:
    """The kernel of a function that is `expressible`."""
    return _kernel(function)


def _operand_line(k: int, param: Parameter) -> str:
    if _is_mask(param):
        return f"const bool {param.name} = operands[{k}] != T(0);"
    return f"const T {param.name} = operands[{k}];"


def _number(function: Function, constant: Constant) -> str | None:
    """The C++ text of a constant that is computed from scalar arguments in their own type; others are in double."""
    return number_text(function, constant.expression) if constant.kind == "element" else None


def _fits(function: Function, constant: Constant) -> str:
    names = {part.name for part in walk(constant.expression) if isinstance(part, Name)}
    fits = f"{constant.name}_.fits<T>()"
    is_nullable = any(param.nullable for param in function.params if param.name in names)
    return f"(!{constant.name}_.isNumber() || {fits})" if is_nullable else fits


def _member_type(function: Function, constant: Constant) -> str:
    return "Number" if _number(function, constant) else _MEMBERS[constant.kind]


def _constant_line(function: Function, constant: Constant) -> str:
    value = f"static_cast<T>({constant.name}_)" if constant.kind == "element" else f"{constant.name}_"
    if _number(function, constant):
        value = f"{constant.name}_.as<T>()"
    return f"const {_LOCALS[constant.kind]} {constant.name} = {value};"


def _function_text(
    function: Function,
    host: HostPrinter,
    operands: list[Parameter],
    constants: list[Constant],
    bool_results: set[str],
    integers: tuple[str, ...],
) -> str:
    """The operator: its plain arguments are checked, the loop checks the tensors. `integers` are the dtypes that its
    kernel takes besides floating ones."""
    declared = c_function(function)
    kernel = function.kernel
    assert kernel is not None
    body: list[str] = []
    conditions = list(_conditions(function, host, integers))
    numbers = [param.name for param in function.params if param.type == "scalar"]
    cast = {name for constraint in function.constraints for name in check_of(constraint)[1] if _casts(constraint)}
    rounded = rounded_numbers(function)
    for name in numbers:
        value = f" = Number({name}).cast()" if name in cast else f"({name})"
        if name in rounded:
            value = f" = Number({name}).roundedTo({_promoted_tensor(function)})"
        body.append(f"{_INDENT}const Number {name}_number{value};")
    for condition in conditions:
        body += [f"{_INDENT}if (!({condition})) {{", f"{_INDENT * 2}return diopiForceFallbackToCPU;", f"{_INDENT}}}"]
    results = [_listed(function, name, name in bool_results, written=True) for name, _ in kernel.results]
    read = [_listed(function, param.name, _is_mask(param), written=False) for param in operands]
    body.append(f"{_INDENT}const Results results = {{{', '.join(results)}}};")
    body.append(f"{_INDENT}const Operands operands = {{{', '.join(read)}}};")
    kernel_text = f"{function.short_name}{{}}"
    if constants:
        body.append(f"{_INDENT}{function.short_name} kernel{{}};")
        body += [f"{_INDENT}kernel.{each.name}_ = {_value(function, host, each)};" for each in constants]
        kernel_text = "kernel"
    items = ["ctx", f'"{function.name}"', "results", "operands", kernel_text]
    body.append(call_lines(f"{_INDENT}return elementwise", items, ";"))
    text = "\n".join(body)
    params = [declarator(p.type, p.name) if _is_used(text, p.name) else f"{declarator(p.type, '')} /*{p.name}*/"
              for p in declared.params]  # fmt: skip
    return "\n".join([call_lines(f"diopiError_t {function.name}", params, " {"), text, "}"])


def _promoted_tensor(function: Function) -> str:
    """A tensor that numbers are promoted with; tensors of several dtypes are left to the fallback."""
    assert function.kernel is not None
    return next(param.name for param in _tensors(function) if param.name in function.kernel.promoted)


def _value(function: Function, host: HostPrinter, constant: Constant) -> str:
    return _number(function, constant) or host.show(constant.expression).text


def _casts(constraint: Constraint) -> bool:
    """Returns whether the constraint is about a number that takes the dtype of a tensor, and no part in promotion."""
    return check_of(constraint)[0] == "require_in_range"


def _is_used(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _conditions(function: Function, host: HostPrinter, integers: tuple[str, ...]) -> Iterable[str]:
    """Conditions on numeric arguments and dtypes, as C++ conditions."""
    for param in function.params:
        if param.type == "scalar":
            yield (f"{param.name} == nullptr || " if param.nullable else "") + f"{param.name}_number.isNumber()"
        elif param.type == "string" and param.values:
            words = ", ".join(c_string(word) for word in param.values)
            yield f"isOneOf({param.name}, {{{words}}})"
        elif param.type == "tensor" and not _is_mask(param) and not param.nullable:
            floats = _floats(function, param)
            if len(floats) < len(_FLOATS):
                dtypes = ", ".join(f"diopi_dtype_{name}" for name in (*floats, *integers))
                yield f"hasDtype({param.name}, {{{dtypes}}})"
    for constraint in function.constraints:
        condition = plain_condition(function, constraint)
        if condition is not None:
            yield host.show(condition).text


def _listed(function: Function, name: str, is_bool: bool, *, written: bool) -> str:
    """A tensor with its flags."""
    param = function.param(name)
    assert param is not None
    flags = [] if written or not _broadcasts(function, param) else ["kBroadcasts"]
    flags += ["kBool"] if is_bool and param.direction != "inout" else []
    flags += ["kOptional"] if param.nullable else []
    return f"{{{', '.join([name, ' | '.join(flags)] if flags else [name])}}}"


def _broadcasts(function: Function, operand: Parameter) -> bool:
    """Returns whether the operand's shape need not be that of the results."""
    rules: Mapping[str, ShapeRule] = {p.name: p.shape for p in _tensors(function) if isinstance(p.shape, ShapeRule)}
    for name, rule in rules.items():
        called = rule.formula.expression
        if not isinstance(called, Call):
            continue
        if name == operand.name and called.function == "broadcastable":
            return True
        if called.function == "broadcast" and operand.name in rule_operands(called):
            return True
    return False
