"""Element types as the rules of the spec see them: kinds, promotion, the dtype that a rule gives; names, no data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from diopigen.ir.rules import ONE_OF
from diopigen.spec.expression import Call, Expression, Name

_KIND = {"bool": 0, "int": 1, "float": 2, "complex": 3}
MANTISSA = {"bfloat16": 8, "float16": 11, "tfloat32": 11, "float32": 24, "float64": 53}
"""Bits of the significand, the hidden one included."""
LARGEST = {
    "bfloat16": 3.3895313892515355e38,
    "float16": 65504.0,
    "tfloat32": 3.4028234663852886e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}
"""The largest finite element."""
_OPMATH = {"float16": "float32", "bfloat16": "float32", "complex32": "complex64"}
_REAL = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_COMPLEX = {"float16": "complex32", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}


@cache
def kind(dtype: str) -> str:
    """`bool`, `int`, `float` or `complex`."""
    if dtype == "bool":
        return "bool"
    if dtype.startswith("complex"):
        return "complex"
    return "int" if "int" in dtype else "float"


@cache
def category(dtype: str) -> int:
    """The order of the kinds: 0 for bool, 1 integral, 2 floating, 3 complex."""
    return _KIND[kind(dtype)]


def real_of(dtype: str) -> str:
    """The dtype of the real part."""
    return _REAL.get(dtype, dtype)


def complex_of(dtype: str) -> str:
    """The complex dtype with that real part; bfloat16 has none of its own and goes to complex64."""
    return _COMPLEX.get(dtype, dtype)


def to_float(dtype: str) -> str:
    """The dtype, or float32 where it is integral or bool."""
    return dtype if category(dtype) >= 2 else "float32"


def accumulate(dtype: str) -> str:
    """The dtype, or int64 where it is integral or bool."""
    return dtype if category(dtype) >= 2 else "int64"


def opmath(dtype: str) -> str:
    """The dtype that elements are computed in, as `at::opmath_type`: float32 for halves, else the same."""
    return _OPMATH.get(dtype, dtype)


# ---- promotion ------------------------------------------------------------------------------------------------------

_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
_FLOATS = ("bfloat16", "float16", "tfloat32", "float32", "float64")
NAMED = frozenset({"bool", *_INTEGERS, *_FLOATS, *_REAL})
"""The dtypes that a rule may name among alternatives."""
_COMPLEXES = ("complex32", "complex64", "complex128")
"""Each from narrow to wide."""


def promote_types(first: str, second: str) -> str:
    """The dtype that holds both, as `torch.promote_types`."""
    if first == second:
        return first
    low, high = sorted((first, second), key=category)
    if category(low) < category(high):
        if kind(high) != "complex" or kind(low) != "float":
            return high
        return "complex128" if low == "float64" else high
    if kind(high) == "int":
        if "uint8" in (low, high) and "int8" in (low, high):
            return "int16"
        return max(low, high, key=_INTEGERS.index)
    if kind(high) == "float":
        if {low, high} == {"float16", "bfloat16"}:
            return "float32"
        return max(low, high, key=_FLOATS.index)
    return max(low, high, key=_COMPLEXES.index)


def _combine(higher: str | None, lower: str | None) -> str | None:
    """The dtype of two priority classes: the lower one counts only where it is of a higher kind."""
    if higher is None or lower is None:
        return higher or lower
    if kind(higher) == "float" and kind(lower) == "complex":
        return complex_of(higher)
    if category(higher) >= 2 or category(lower) <= category(higher):
        return higher
    return promote_types(higher, lower)


def promote(operands: Sequence[tuple[str, int | None]]) -> str:
    """The dtype of a result as PyTorch promotes: operands are (dtype, rank), rank None for a number.

    Tensors with dimensions come before 0-d tensors and those before numbers; a floating number counts as float32.
    """
    classes: list[str | None] = [None, None, None]
    for dtype, rank in operands:
        position = 2 if rank is None else (0 if rank > 0 else 1)
        if rank is None and kind(dtype) == "float":
            dtype = "float32"
        known = classes[position]
        classes[position] = dtype if known is None else promote_types(known, dtype)
    found = _combine(classes[0], _combine(classes[1], classes[2]))
    assert found is not None, "promotion of nothing"
    return found


# ---- rules of the spec ----------------------------------------------------------------------------------------------

Operands = Callable[[str], Sequence[tuple[str, "int | None"]]]
"""The dtypes and ranks behind a parameter's name: one for a tensor or number, several for an array, none for null."""

_DERIVED: dict[str, Callable[[str], str]] = {
    "to_float": to_float,
    "accumulate": accumulate,
    "opmath": opmath,
    "to_real": real_of,
    "to_complex": complex_of,
}


def literal(argument: Expression) -> str:
    """The dtype that an alternative names; empty where it is a parameter or a rule."""
    return argument.name if isinstance(argument, Name) and argument.name in NAMED else ""


def alternatives(rule: Expression, operands: Operands) -> tuple[str, ...]:
    """The dtypes that a rule allows, each once and in its order: several for `one_of`. Raises as `evaluate`."""
    if not (isinstance(rule, Call) and rule.function == ONE_OF):
        return (evaluate(rule, operands),)
    return tuple(dict.fromkeys(literal(one) or evaluate(one, operands) for one in rule.arguments))


def evaluate(rule: Expression, operands: Operands) -> str:
    """The dtype that a rule gives, the first of alternatives. Raises `LookupError` where a parameter that it needs is
    null."""
    if isinstance(rule, Name):
        return evaluate(Call("same", (rule,)), operands)
    if not isinstance(rule, Call):
        raise LookupError("not a dtype rule")
    if rule.function == ONE_OF:
        return alternatives(rule, operands)[0]
    if rule.function == "promote":
        found = [one for name in rule.arguments if isinstance(name, Name) for one in operands(name.name)]
        if not found:
            raise LookupError("nothing to promote")
        return promote(found)
    if rule.function == "same":
        name = rule.arguments[0]
        found = list(operands(name.name)) if isinstance(name, Name) else []
        if not found:
            raise LookupError("the parameter is null")
        return found[0][0]
    return _DERIVED[rule.function](evaluate(rule.arguments[0], operands))
