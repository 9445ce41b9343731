"""Forms of predicates of elementwise operators, for targets whose calls no contract checks (skeletons).

A predicate over plain arguments is printed as it is. One that asks for dtypes or elements is known by its form: it
concerns integers alone, or whether a result can be cast to its output. A capital letter stands for any parameter,
`promote(_)` for a promotion of any operands.
"""

from __future__ import annotations

from collections.abc import Mapping

from diopigen.ir.model import Constraint, Function
from diopigen.ir.types import NUMBERS, TENSORS
from diopigen.spec.expression import Binary, Call, Expression, Name, Unary, parse, walk

FORMS: tuple[tuple[str, str], ...] = (
    ("implies(category(promote(_)) <= 1, category(X) <= 1)", "require_no_fraction:X"),
    ("implies(is_integral(promote(_)), X >= 0)", "require_no_negative:X"),
    ("implies(category(promote(_)) <= 1, all(X != 0))", "reject_zero:X"),
    ("implies(category(promote(_)) <= 1, X != 0)", "reject_zero:X"),
    ("implies(category(promote(_)) <= 1 and numel(T) > 0, X != 0)", "reject_zero:X"),
    ("implies(rounding_mode != RoundModeNone and category(promote(_)) <= 1, all(X != 0))", "reject_zero:X"),
    ("implies(rounding_mode != RoundModeNone and category(promote(_)) <= 1, X != 0)", "reject_zero:X"),
    ("implies(rounding_mode != RoundModeNone and category(promote(_)) <= 1 and numel(T) > 0, X != 0)", "reject_zero:X"),
    ("rounding_mode == RoundModeNone or one_of(category(promote(_)), 1, 2)", "require_roundable"),
    ("not is_integral(T) or can_hold(T, X) or lowest(T) == 0 and can_hold(T, -X)", "require_in_range:X"),
    ("implies(is_integral(T), can_hold(T, X) or lowest(T) == 0 and can_hold(T, -X))", "require_in_range:X"),
    ("not is_integral(T) or can_hold(T, X) and can_hold(T, Y)", "require_in_range:X,Y"),
    (
        "implies(category(promote(_)) <= 1, can_hold(T, X) or lowest(T) == 0 and can_hold(T, -X))",
        "require_in_promoted_range",
    ),
    (
        "implies(category(promote(_)) <= 1 and not is_null(X), can_hold(T, X) or lowest(T) == 0 and can_hold(T, -X))",
        "require_in_promoted_range",
    ),
    ("not is_integral(T) or is_whole(X) and is_whole(Y)", "require_whole:X,Y"),
    ("not is_integral(T) or is_whole(X) and is_whole(Y) and is_whole(Z)", "require_whole:X,Y,Z"),
    ("numel(T) == max(ceil_div(end - start, step), 0)", "require_arange_length"),
    ("implies(is_complex(X), is_complex(Y))", "require_castable_operand:X,Y"),
    ("implies(is_bool(X), is_bool(Y))", "promotion"),
    ("category(promote(_)) >= 1", "promotion"),
    ("0 <= X <= numel(T)", "require_size"),
)
"""Forms of predicates that need tensors, with the name of a check that `cpu_call` writes and its parameters."""

_PROMOTIONS = (
    "category(promote(_)) <= category(T)",
    "category(promote(_)) <= category(T) or is_bool(T) and is_integral(B)",
    "category(promote(_)) <= category(T) and (rounding_mode != RoundModeNone or category(T) >= 2)",
    "all(categories(T) >= category(X))",
)
"""That the result can be cast to the output, which is checked for every output of the kind."""


def plain_condition(function: Function, constraint: Constraint) -> Expression | None:
    """The predicate in the functions of kernels, where it reads plain arguments alone; else None."""
    if constraint.require is None or constraint.checked != "call":
        return None
    expression = _plain(constraint.require.expression)
    for part in walk(expression):
        if isinstance(part, Call) and part.function not in ("is_null", "abs", "min", "max"):
            return None
    asked = [part.arguments[0] for part in walk(expression) if isinstance(part, Call) and part.function == "is_null"]
    for part in walk(expression):
        param = function.param(part.name) if isinstance(part, Name) else None
        is_tensor = param is not None and param.type in TENSORS
        if param is not None and ((is_tensor and part not in asked) or (not is_tensor and not _is_plain(param.type))):
            return None
    return expression


def _is_plain(type_name: str) -> bool:
    return type_name in NUMBERS or type_name in ("bool", "scalar") or type_name.startswith("diopi")


def _plain(expression: Expression) -> Expression:
    """Without `implies` and `one_of`, which kernels do not have."""
    if isinstance(expression, Unary):
        return Unary(expression.operator, _plain(expression.operand))
    if isinstance(expression, Binary):
        return Binary(expression.operator, _plain(expression.left), _plain(expression.right))
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(map(_plain, expression.arguments))
    if expression.function == "implies":
        return Binary("or", Unary("not", arguments[0]), arguments[1])
    if expression.function == "one_of":
        found: Expression = Binary("==", arguments[0], arguments[1])
        for other in arguments[2:]:
            found = Binary("or", found, Binary("==", arguments[0], other))
        return found
    return Call(expression.function, arguments)


def check_of(constraint: Constraint) -> tuple[str, list[str]]:
    """The check of `FORMS` that a constraint needs, with its parameters; an empty name where none does."""
    if constraint.require is not None:
        for form, check in FORMS:
            found = _matched(form, constraint.require.expression)
            if found is not None:
                name, _, letters = check.partition(":")
                return name, [found[letter] for letter in letters.split(",")] if letters else [""]
    return "", []


def promotion_of(constraint: Constraint) -> Mapping[str, str] | None:
    """The parameters of a constraint that says that the result can be cast to the output; None for any other. `B` is
    among them where an integral number may go into a bool output."""
    if constraint.require is None:
        return None
    found = (_matched(form, constraint.require.expression) for form in _PROMOTIONS)
    return next((names for names in found if names is not None), {} if check_of(constraint)[0] == "promotion" else None)


def _matched(form: str, expression: Expression) -> dict[str, str] | None:
    """Operands matched by the letters of a form in an expression; None if it has another form."""
    found: dict[str, str] = {}
    return found if _matches(parse(form), expression, found) else None


def _matches(form: Expression, expression: Expression, found: dict[str, str]) -> bool:
    if isinstance(form, Name) and len(form.name) == 1 and form.name.isupper():
        return isinstance(expression, Name) and found.setdefault(form.name, expression.name) == expression.name
    if isinstance(form, Call) and isinstance(expression, Call) and form.function == expression.function:
        if form.arguments == (Name("_"),):
            return True
        pairs = list(zip(form.arguments, expression.arguments, strict=False))
        return len(form.arguments) == len(expression.arguments) and all(_matches(a, b, found) for a, b in pairs)
    if isinstance(form, Binary) and isinstance(expression, Binary) and form.operator == expression.operator:
        return _matches(form.left, expression.left, found) and _matches(form.right, expression.right, found)
    if isinstance(form, Unary) and isinstance(expression, Unary) and form.operator == expression.operator:
        return _matches(form.operand, expression.operand, found)
    return form == expression
