"""C types behind typedefs."""

from __future__ import annotations

import pytest

from diopigen.header.cdecl import CInterface, CTypedef
from diopigen.header.type_expr import TypeExpr, parse_type, resolve, typedef_table

TYPEDEFS = {
    "Handle": "struct T *",
    "ConstHandle": "const struct T *",
    "Index": "Small",
    "Small": "int8_t",
    "int8_t": "signed char",
    "Loop": "Loop",
    "A": "B",
    "B": "A",
}


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("int", TypeExpr("int")),
        ("int const", TypeExpr("int", True)),
        ("unsigned   long", TypeExpr("unsigned long")),
        ("const T*const*", TypeExpr("T", True, (True, False))),
        ("struct T **", TypeExpr("T", False, (False, False))),
        ("_Bool[3]", TypeExpr("bool", False, (False,))),
        ("T *[]", TypeExpr("T", False, (False, False))),
        ("char *restrict", TypeExpr("char", False, (False,))),
        ("int (*)(int)", TypeExpr("int ( *)(int)")),
    ],
)
def test_reading_a_type(spelling: str, expected: TypeExpr) -> None:
    assert parse_type(spelling) == expected


@pytest.mark.parametrize("text", ["int", "const T", "T *", "const T *const *", "T **const"])
def test_printing_gives_the_canonical_spelling(text: str) -> None:
    assert str(parse_type(text)) == text


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("Handle", "T *"),
        ("const Handle", "T *const"),
        ("ConstHandle *", "const T **"),
        ("const ConstHandle *", "const T *const *"),
        ("const Index", "const signed char"),
        ("Index *", "signed char *"),
        ("Unknown *", "Unknown *"),
        ("Loop", "Loop"),
        ("A", "A"),
    ],
)
def test_resolving(spelling: str, expected: str) -> None:
    assert str(resolve(spelling, TYPEDEFS)) == expected


def test_questions_about_const() -> None:
    kind = parse_type("const T *const")
    assert (kind.by_value, kind.top_const, kind.pointee_const) == (False, True, True)
    assert str(kind.without_top_const()) == "const T *"
    assert str(kind.without_const()) == "T *"
    outer = parse_type("const T **")
    assert (outer.top_const, outer.pointee_const) == (False, False)
    assert parse_type("T *const *").pointee_const is True
    value = parse_type("const int")
    assert (value.by_value, value.top_const, value.pointee_const) == (True, True, False)
    assert str(value.without_top_const()) == "int"


def test_the_first_interface_wins() -> None:
    first = CInterface(typedefs=(CTypedef("T", "int"),))
    second = CInterface(typedefs=(CTypedef("T", "float"), CTypedef("U", "T")))
    table = typedef_table(first, second)
    assert str(resolve("U", table)) == "int"
    assert str(resolve("int64_t", table)) == "long"
