"""Calls to time: of each function one of about each size, from the shapes of model tables or of the function's own
recipes, scaled up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from diopigen.conformance.cases import axes
from diopigen.conformance.cases.choices import primary_dtypes
from diopigen.conformance.cases.held_out import Origin, bound_calls, with_sizes
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.suite import recipe_cases, recipes_of
from diopigen.conformance.model import SUCCESS, Case, operands_of
from diopigen.conformance.speed.work import work_of
from diopigen.ir.model import Function, Interface, Parameter

SIZES = {"small": 1 << 12, "medium": 1 << 20, "large": 1 << 24}
"""Elements of the largest tensor of a call, about."""
AXIS = "speed"
_NEAR = 8.0
"""A call is of a size if its largest tensor has at most so many times the elements, or fewer by that factor."""
_OPERATIONS = 4e9
"""Operations of a call at most: scaled sizes of a product multiply."""
_DTYPES = ("float32", "float16", "bfloat16", "float64", "int32", "int64")
"""Dtypes by preference, where none is asked for."""
_MULTIPLE = 16
"""Scaled sizes are multiples of it, as sizes of models are."""


def elements_of(case: Case) -> int:
    """The elements of the largest tensor of a call."""
    return max((math.prod(one.shape) for one in operands_of(case.arguments.values())), default=0)


def calls_of(
    interface: Interface, function: Function, sizes: Sequence[str], dtype: str, models: Sequence[Case] = ()
) -> dict[str, Case]:
    """A call of each size that the function has. `models` are its calls in model tables; without `dtype` it has the
    one that is preferred."""
    own = primary_dtypes(function)
    selected = dtype or next((one for one in _DTYPES if one in own), own[0] if own else "")
    if selected not in own:
        return {}
    origin = Origin(function, Resolver(interface, function), bound_calls(function), ())
    bases = list(_bases(origin, interface, selected))
    recorded = [case for case in models if case.dtype == selected]
    found = {}
    for size in sizes:
        case = _nearest(recorded, SIZES[size]) or _scaled(origin, bases, SIZES[size])
        if case is not None:
            found[size] = replace(case, id=f"{function.name}/{selected}/{size}", axis=AXIS, about=f"as {case.id}")
    return found


def _bases(origin: Origin, interface: Interface, dtype: str) -> Iterator[Case]:
    """The calls that are scaled: recipes, then those that any elementwise operator has."""
    function = origin.function
    for case in (
        *recipe_cases(function, origin.resolver, recipes_of(interface, function)),
        *(case for case in axes.cases(function, origin.resolver) if case.axis == "plain"),
    ):
        tensors = list(operands_of(case.arguments.values()))
        is_plain = all(one.alias is None and not one.on_host for one in tensors)
        if case.dtype == dtype and case.expect == SUCCESS and is_plain and origin.legal.admits(case.arguments):
            yield case


def _nearest(cases: Sequence[Case], elements: int) -> Case | None:
    best = min(cases, key=lambda case: abs(math.log(max(elements_of(case), 1) / elements)), default=None)
    return best if best is not None and _is_near(best, elements) and _is_short(best) else None


def _is_near(case: Case, elements: int) -> bool:
    return elements / _NEAR <= elements_of(case) <= elements * _NEAR


def _is_short(case: Case, function: Function | None = None) -> bool:
    operations = None if function is None else work_of(function, case).operations
    return operations is None or operations <= _OPERATIONS


def _scaled(origin: Origin, bases: Sequence[Case], elements: int) -> Case | None:
    """The first call that is legal with other sizes: all sizes by one factor, else one of them."""
    for base in bases:
        if _is_near(base, elements):
            return base
        for sizes in _ways(base, elements):
            for follows in (_follows, _stays):
                arguments = with_sizes(origin, base, sizes, follows, most=elements * _NEAR)
                if arguments is None:
                    continue
                case = replace(base, arguments=arguments)
                if _is_near(case, elements) and _is_short(case, origin.function):
                    return case
    return None


def _ways(base: Case, elements: int) -> Iterator[dict[int, int]]:
    """New sizes by old ones."""
    tensors = [one.shape for one in operands_of(base.arguments.values())]
    largest = max(tensors, key=math.prod, default=())
    known = sorted({size for shape in tensors for size in shape if size > 1}, reverse=True)
    count = math.prod(largest)
    dimensions = sum(size > 1 for size in largest)
    if not known or not count or not dimensions:
        return
    factor = (elements / count) ** (1 / dimensions)
    if factor <= 1:
        return
    yield {size: _rounded(size * factor) for size in known}
    for size in known:
        times = largest.count(size)
        if times:
            yield {size: _rounded(size * (elements / count) ** (1 / times))}


def _rounded(size: float) -> int:
    return max(_MULTIPLE, round(size / _MULTIPLE) * _MULTIPLE) if size >= _MULTIPLE else max(2, round(size))


def _follows(_param: Parameter) -> bool:
    """The shape of an operand is scaled as those that it follows from."""
    return True


def _stays(_param: Parameter) -> bool:
    return False
