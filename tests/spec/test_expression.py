"""The expression language: how texts are read, and that what is printed is read again as the same."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from diopigen.spec.expression import (
    Binary,
    Call,
    Expression,
    ExpressionError,
    Name,
    Number,
    Text,
    Unary,
    parse,
    to_text,
    walk,
)

A, B, C = Name("a"), Name("b"), Name("c")

READ = {
    "a + b * c": Binary("+", A, Binary("*", B, C)),
    "(a + b) * c": Binary("*", Binary("+", A, B), C),
    "a - b - c": Binary("-", Binary("-", A, B), C),
    "a ** b ** c": Binary("**", A, Binary("**", B, C)),
    "-a ** b": Unary("-", Binary("**", A, B)),
    "(-a) ** b": Binary("**", Unary("-", A), B),
    "a ** -b": Binary("**", A, Unary("-", B)),
    "-a * b": Binary("*", Unary("-", A), B),
    "not a == b and c": Binary("and", Unary("not", Binary("==", A, B)), C),
    "a or b and c": Binary("or", A, Binary("and", B, C)),
    "a | b ^ c & ~a": Binary("|", A, Binary("^", B, Binary("&", C, Unary("~", A)))),
    "a < b | c": Binary("<", A, Binary("|", B, C)),
    "a <= b < c": Binary("and", Binary("<=", A, B), Binary("<", B, C)),
    "not a < b == c": Unary("not", Binary("and", Binary("<", A, B), Binary("==", B, C))),
    "f()": Call("f", ()),
    "f(a, g(b), 'x y')": Call("f", (A, Call("g", (B,)), Text("x y"))),
    '"it\'s"': Text("it's"),
    "1": Number(1),
    "1.": Number(1.0),
    ".5e-3": Number(0.0005),
    "  a\n+ b ": Binary("+", A, B),
    "notion": Name("notion"),
}

REJECTED = {
    "": ("expected an operand, found end of the expression", 0, 1),
    "   ": ("expected an operand, found end of the expression", 3, 1),
    "a b": ("expected an operator, found 'b'", 2, 1),
    "a +": ("expected an operand, found end of the expression", 3, 1),
    "or": ("expected an operand, found 'or'", 0, 2),
    "a + not": ("expected an operand, found end of the expression", 7, 1),
    "a + * b": ("expected an operand, found '*'", 4, 1),
    "f(a": ("expected ')', found end of the expression", 3, 1),
    "f(a,)": ("expected an operand, found ')'", 4, 1),
    "f(a b)": ("expected ')', found 'b'", 4, 1),
    "(a": ("expected ')', found end of the expression", 2, 1),
    "a = b": ("unexpected character '='", 2, 1),
    "a ? b": ("unexpected character '?'", 2, 1),
    "'open": ("unexpected character '''", 0, 1),
    "a.b": ("unexpected character '.'", 1, 1),
    "1e999 + a": ("number out of range", 0, 5),
    "a + " + "9" * 5000: ("number out of range", 4, 5000),
    "(" * 65 + "a" + ")" * 65: ("nested too deeply", 64, 1),
    "-" * 70 + "a": ("nested too deeply", 64, 1),
    "a + " * 100 + "a": ("nested too deeply (at most 100 operators inside each other)", 398, 1),
}


@pytest.mark.parametrize("text", READ)
def test_a_text_is_read_as_this(text: str) -> None:
    assert parse(text) == READ[text]


@pytest.mark.parametrize("text", REJECTED, ids=lambda text: text[:12])
def test_a_text_is_rejected_here(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert (caught.value.message, caught.value.offset, caught.value.length) == REJECTED[text]


def test_offsets_are_those_of_the_text() -> None:
    text = "where(a == 'x', -b,  f(c) ** 2) and not z"
    found = {(type(part).__name__, part.offset) for part in walk(parse(text))}
    assert found == {
        ("Binary", text.index("and")),
        ("Unary", text.index("not")),
        ("Name", text.index("z")),
        ("Call", text.index("where")),
        ("Binary", text.index("==")),
        ("Name", text.index("a ")),
        ("Text", text.index("'x'")),
        ("Unary", text.index("-b")),
        ("Name", text.index("b,")),
        ("Binary", text.index("**")),
        ("Call", text.index("f(")),
        ("Name", text.index("c)")),
        ("Number", text.index("2)")),
    }


def test_the_longest_chain_and_the_deepest_nesting_are_read_and_printed() -> None:
    chain = " + ".join(["a"] * 100)
    assert to_text(parse(chain)) == chain
    assert parse("(" * 63 + "a" + ")" * 63) == A
    wide = f"f({', '.join(['a'] * 5000)})"
    assert to_text(parse(wide)) == wide


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(lambda n: n not in ("and", "or", "not"))
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="'"), max_size=5) | st.text(
    "ab'", max_size=5
)
numbers = st.integers(0, 2**70) | st.floats(0, allow_nan=False, allow_infinity=False)
leaves = st.builds(Number, numbers) | st.builds(Name, names) | st.builds(Text, texts)
OPERATORS = ["or", "and", "==", "!=", "<", "<=", ">", ">=", "|", "^", "&", "+", "-", "*", "/", "//", "%", "**"]


def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return (
        st.builds(Unary, st.sampled_from(["-", "~", "not"]), inner)
        | st.builds(Binary, st.sampled_from(OPERATORS), inner, inner)
        | st.builds(Call, names, st.lists(inner, max_size=3).map(tuple))
    )


@settings(max_examples=examples(500), deadline=None)
@given(st.recursive(leaves, larger, max_leaves=25))
def test_what_is_printed_is_read_again(expression: Expression) -> None:
    assert parse(to_text(expression)) == expression


@settings(max_examples=examples(500), deadline=None)
@given(st.recursive(leaves, larger, max_leaves=12))
def test_no_pair_of_parentheses_can_be_left_out(expression: Expression) -> None:
    """Dropping any pair changes the meaning or the grammar, but for those of calls and around prefix operators."""
    text = to_text(expression)
    for start, end in grouping_pairs(text):
        if text.startswith(("not ", "-", "~"), start + 1):
            continue
        bare = f"{text[:start]} {text[start + 1 : end]} {text[end + 1 :]}"
        with suppress(ExpressionError):
            assert parse(bare) != expression


def grouping_pairs(text: str) -> list[tuple[int, int]]:
    """The parentheses that group, by position; those of calls and those inside quotes are left out."""
    pairs, stack, quote, previous = [], [], "", ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "(":
            stack.append((position, not (previous.isalnum() or previous == "_")))
        elif character == ")":
            start, groups = stack.pop()
            if groups:
                pairs.append((start, position))
        previous = character
    return pairs


@settings(max_examples=examples(500), deadline=None)
@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from([*OPERATORS, "not", "~", "(", ")", ",", "a", "f(", "1", "'x'"])).map(" ".join)
)
def test_any_text_is_read_or_rejected(text: str) -> None:
    try:
        found = parse(text)
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text)
        assert error.length >= 1
    else:
        assert parse(to_text(found)) == found
