"""Properties of the elementwise operators for the CPU engine.

Which functions share a loop, which operands it reads, and which dtypes it computes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from diopigen.contract.dtypes import opmath, promote_types, to_float
from diopigen.emit.cpp_text import CPU
from diopigen.emit.cpu.argument_printer import ArgumentPrinter
from diopigen.emit.element_expression import ElementPrinter
from diopigen.emit.float_operands import float_condition
from diopigen.ir.clauses import Formula
from diopigen.ir.model import BASE, DtypeList, DtypeRule, Function, Interface, Kernel, Parameter
from diopigen.spec.expression import Call, Expression, Name, to_text, walk

_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
COMPUTE_DTYPES = ("bool", *_INTEGERS, "float32", "float64", "complex64", "complex128")


@dataclass(frozen=True, slots=True)
class Group:
    """Functions whose kernels are the same expressions: one loop serves them all."""

    name: str
    functions: tuple[Function, ...]
    kernel: Kernel
    arrays: Mapping[str, str]
    """Operands that are a tensor in one of the functions: `element`, or `bool` for masks."""
    participants: Mapping[str, tuple[str, ...]]
    """By C function: the operands whose dtypes are promoted to the compute dtype."""
    dtypes: tuple[str, ...]
    """The compute dtypes that the loop is instantiated for."""
    widens: bool | str
    """True if integral operands are computed as float32: never, always, or where a host condition holds."""
    uses_coordinates: bool

    @property
    def has_complex(self) -> bool:
        """Returns whether a compute dtype is complex."""
        return any(name.startswith("complex") for name in self.dtypes)


def tensor_functions(interface: Interface) -> tuple[Function, ...]:
    """The functions that the target writes: a kernel, operands that are tensors, and not left out."""
    return tuple(function for function in interface.functions if function.kernel and not function.by_hand)


def groups(interface: Interface) -> tuple[Group, ...]:
    """The functions by loop, in the order of the interface."""
    found: dict[tuple[str, ...], list[Function]] = {}
    for function in tensor_functions(interface):
        assert function.kernel is not None
        kernel = function.kernel
        lets = tuple(f"{name}={to_text(formula.expression)}" for name, formula in kernel.lets)
        results = tuple(to_text(formula.expression) for _, formula in kernel.results)
        found.setdefault((function.operator, *lets, *results), []).append(function)
    bases = {function.operator: function for function in interface.functions if function.variant == BASE}
    return tuple(_group(bases[functions[0].operator], tuple(functions)) for functions in found.values())


def parameters(functions: Iterable[Function]) -> dict[str, Parameter]:
    """All parameters of some functions by name, tensors before scalars of the same name."""
    found: dict[str, Parameter] = {}
    for function in functions:
        for param in function.params:
            if param.name not in found or (param.type in ("tensor", "tensors") and param.is_read):
                found[param.name] = param
    return found


def formulas(kernel: Kernel) -> tuple[Formula, ...]:
    """All expressions of a kernel in order."""
    return tuple(formula for _, formula in (*kernel.lets, *kernel.results))


def _group(base: Function, functions: tuple[Function, ...]) -> Group:
    first = next((function for function in functions if function.variant == BASE), functions[0])
    kernel = first.kernel
    assert kernel is not None
    params = parameters(functions)
    used = {part.name for formula in formulas(kernel) for part in walk(formula.expression) if isinstance(part, Name)}
    calls = {
        part.function for formula in formulas(kernel) for part in walk(formula.expression) if isinstance(part, Call)
    }
    operands = [
        name
        for name, param in params.items()
        if name in used and param.type in ("tensor", "tensors", "scalar") and _is_tensor_somewhere(name, functions)
    ]
    participants = {function.name: _participants(base, function, operands) for function in functions}
    masks = {name for name in operands if all(name not in own for own in participants.values())}
    masks = {name for name in masks if _is_mask(params[name])}
    arrays = {name: "bool" if name in masks else "element" for name in operands}
    host = ArgumentPrinter(params)
    lets = dict(kernel.lets)
    probe = ElementPrinter(CPU, host, arrays, dict.fromkeys(lets, "element"))
    widens: bool | str = False
    for _, formula in kernel.results:
        found = float_condition(formula.expression, probe, lets)
        widens = found if widens is False or found is True else widens
    dtypes: set[str] = set()
    for function in functions:
        dtypes |= _compute_dtypes(
            function, participants[function.name], widens, "index" in calls or "linear_index" in calls
        )
    ordered = tuple(name for name in COMPUTE_DTYPES if name in dtypes)
    name = first.short_name if functions[0].operator != first.operator else first.operator
    return Group(
        name,
        functions,
        kernel,
        arrays,
        participants,
        ordered,
        widens,
        bool({"index", "linear_index"} & calls),
    )


def _is_tensor_somewhere(name: str, functions: Iterable[Function]) -> bool:
    for function in functions:
        param = function.param(name)
        if param is not None and param.type in ("tensor", "tensors") and param.is_read:
            return True
    return False


def _is_mask(param: Parameter) -> bool:
    return isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) <= {"bool", "uint8"}


def rule_operands(expression: Expression) -> tuple[str, ...]:
    """The parameters that a dtype rule names."""
    return tuple(part.name for part in walk(expression) if isinstance(part, Name))


def _participants(base: Function, function: Function, operands: list[str]) -> tuple[str, ...]:
    """Parameters that the compute dtype of a function is promoted from; none if the output's dtype decides."""
    output = next((param for param in base.params if param.direction == "out"), None)
    if output is not None and isinstance(output.dtype, DtypeRule):
        named = rule_operands(output.dtype.formula.expression)
        return tuple(name for name in named if function.param(name) is not None)
    if not operands:
        return ()
    own = [param for name in operands if (param := function.param(name)) is not None]
    tensors = [param for param in own if isinstance(param.dtype, DtypeRule)]
    if tensors and output is None:
        # An optimizer: the dtype of its first tensor is that of all.
        return (own[0].name,)
    return tuple(param.name for param in own if not _is_mask(param) or len(own) == 1)


def allowed(function: Function, param: Parameter) -> tuple[str, ...]:
    """The dtypes that a parameter may have; a rule is resolved to the dtypes of what it names."""
    if isinstance(param.dtype, DtypeList):
        return param.dtype.dtypes
    if isinstance(param.dtype, DtypeRule):
        found: dict[str, None] = {}
        for name in rule_operands(param.dtype.formula.expression):
            other = function.param(name)
            if other is not None and other is not param:
                found.update(dict.fromkeys(allowed(function, other)))
        return tuple(found)
    return ()


def _compute_dtypes(
    function: Function, participants: tuple[str, ...], widens: bool | str, uses_coordinates: bool
) -> set[str]:
    if not participants:
        output = next(param for param in function.params if param.is_written)
        dtypes = {opmath(name) for name in allowed(function, output)}
        if uses_coordinates:
            return {"float64"} if widens is True else {"float64", "int64"}
        return dtypes
    dtypes = set()
    for name in participants:
        param = function.param(name)
        assert param is not None
        if param.type == "scalar":
            words = set(allowed(function, param))
            dtypes |= {"int64"} if words & {*_INTEGERS, "bool"} else set()
            dtypes |= {"float32"} if words & {"float16", "bfloat16", "float32", "float64"} else set()
        else:
            dtypes |= {opmath(word) for word in allowed(function, param)}
    closed = {promote_types(left, right) for left in dtypes for right in dtypes}
    if widens is False:
        return closed
    floated = {to_float(name) for name in closed}
    return floated if widens is True else closed | floated
