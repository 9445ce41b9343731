"""Kernel expressions as C++: the text that a reader would write."""

from __future__ import annotations

import pytest

from diopigen.diagnostics import Span
from diopigen.emit.cpp_text import CPU, UnsupportedExpressionError
from diopigen.emit.element_expression import ElementPrinter
from diopigen.emit.float_operands import float_condition
from diopigen.emit.host_expression import HostPrinter
from diopigen.ir.model import Parameter
from diopigen.spec.expression import parse

TYPES = {
    "input": "tensor", "other": "tensor", "mask": "tensor", "alpha": "scalar", "beta1": "float", "lr": "double",
    "step": "int64", "flag": "bool", "mode": "string", "rounding": "diopiRoundMode_t", "most": "tensor",
}  # fmt: skip
PARAMS = {name: Parameter(name, kind, "in", "", Span("test.yaml")) for name, kind in TYPES.items()}
ARRAYS = {"input": "element", "other": "element", "mask": "bool", "most": "element"}


def printer(has_complex: bool = False) -> ElementPrinter:
    return ElementPrinter(CPU, HostPrinter(CPU, PARAMS, {}), ARRAYS, has_complex=has_complex)


@pytest.mark.parametrize(
    ("text", "expected", "kind"),
    [
        ("input + alpha * other", "input[i] + alpha * other[i]", "element"),
        ("(input - 1) * (input - other)", "(input[i] - T(1)) * (input[i] - other[i])", "element"),
        ("input - (other - input)", "input[i] - (other[i] - input[i])", "element"),
        ("-input ** 2", "-power(input[i], T(2))", "element"),
        ("-(input + other)", "-(input[i] + other[i])", "element"),
        ("input // other % 3", "remainder(floor_divide(input[i], other[i]), T(3))", "element"),
        ("max(input, 0)", "maximum(input[i], T(0))", "element"),
        ("where(mask, input, 0)", "where(mask[i], input[i], T(0))", "element"),
        ("2 * where(input > 0, input, other)", "T(2) * where(input[i] > T(0), input[i], other[i])", "element"),
        ("where(where(mask, flag, mask), 1, 2)", "(mask[i] ? flag : mask[i]) ? 1 : 2", "integer"),
        ("input and not other", "both(is_true(input[i]), !is_true(other[i]))", "bool"),
        ("input > 0 or input < 1 and mask", "either(input[i] > T(0), both(input[i] < T(1), mask[i]))", "bool"),
        ("input & other | 1", "(input[i] & other[i]) | T(1)", "element"),
        ("input == other", "input[i] == other[i]", "bool"),
        ("sqrt(8 / pi) * input", "T(1.5957691216057308) * input[i]", "element"),
        ("input * (1 - beta1)", "input[i] * factor1", "element"),
        ("where(is_null(most), input, most)", "condition1 ? input[i] : most[i]", "element"),
        ("index(-1) - index(-2) <= step", "column[i] - row[i] <= step", "bool"),
        ("alpha + linear_index() * input", "alpha + T(position[i]) * input[i]", "element"),
        ("complex(input, other)", "complex(input[i], other[i])", "pair"),
        ("isnan(input)", "isnan(input[i])", "bool"),
    ],
)  # fmt: skip
def test_elements(text: str, expected: str, kind: str) -> None:
    printed = printer().show(parse(text))
    assert (printed.text, printed.kind) == (expected, kind)


def test_real_parts_of_complex_numbers() -> None:
    printed = printer(has_complex=True).show(parse("abs(input) < 0.5"))
    assert printed.text == "absolute(input[i]) < Real<T>(0.5)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 - beta1 ** step", "1.0 - std::pow(double{beta1}, static_cast<double>(step))"),
        ("lr / (1 - beta1)", "lr / (1.0 - double{beta1})"),
        ("step // 2", "floor_divide(Int64(step), Int64(2)).value"),
        ("step - 1", "step - 1"),
        ("alpha > 0 and flag", "alpha_number.value() > 0 && flag"),
        ("mode == 'tanh'", 'std::string_view(mode) == "tanh"'),
        ("rounding == RoundModeFloor", "rounding == RoundModeFloor"),
        ("is_null(most)", "most == nullptr"),
        ("not flag or not is_null(most)", "!flag || !(most == nullptr)"),
    ],
)
def test_host(text: str, expected: str) -> None:
    assert HostPrinter(CPU, PARAMS, {}).show(parse(text)).text == expected


def test_a_uniform_part_becomes_one_constant() -> None:
    own = printer()
    printed = own.show(parse("input * (1 - lr) + other * (1 - lr) + where(flag, lr, step)"))
    assert printed.text == "input[i] * factor1 + other[i] * factor1 + factor2"
    hosts = [(constant.name, own.host.show(constant.expression).text) for constant in own.constants]
    assert hosts == [("factor1", "1.0 - lr"), ("factor2", "flag ? lr : static_cast<double>(step)")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input + alpha * other", False), ("input / other", True), ("sigmoid(input)", True), ("0.5 * input", True),
        ("max(input, 0)", False), ("sqrt(input) > 1", False),
        ("where(rounding == RoundModeFloor, floor_div(input, other), input / other)", "rounding != RoundModeFloor"),
    ],
)  # fmt: skip
def test_what_widens_integers(text: str, expected: bool | str) -> None:
    assert float_condition(parse(text), printer(), {}) == expected


def test_what_cannot_be_printed_is_said() -> None:
    with pytest.raises(UnsupportedExpressionError, match="'to_int'"):
        printer().show(parse("to_int(input)"))
