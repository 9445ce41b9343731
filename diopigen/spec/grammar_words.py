"""The words that all spec files are made of."""

from __future__ import annotations

from dataclasses import replace

from diopigen.spec.schema import (
    AnyShape,
    BooleanShape,
    EitherShape,
    Field,
    ListShape,
    LiteralShape,
    MapShape,
    RecordShape,
    TextShape,
)

TEXT = TextShape()
C_TYPE = TextShape(
    # A type with the sizes of an array, or with the parameters of a function or of a pointer to one.
    r"[A-Za-z_][A-Za-z0-9_ *&]*(?:(?:\[[0-9]+\])*|(?:\( ?\*\))?\((?! ?\*)[A-Za-z0-9_ *&,.()\[\]]*\))",
    what="a C type",
)
RESULT_TYPE = TextShape(r"[A-Za-z_][A-Za-z0-9_ *&]*", what="a C type that a function can return")
PREFIX = TextShape(r"(?:[A-Za-z_][A-Za-z0-9_]*)?", what="the beginning of a name, or nothing")
WORD = TextShape(r"[A-Za-z_][A-Za-z0-9_]*", what="a name (letters, digits, _)")
DTYPE_NAME = replace(WORD, vocabulary="dtype")
DTYPE_OR_SET = replace(WORD, vocabulary="dtype_or_set")
TYPE_NAME = replace(WORD, vocabulary="type")
OPERATOR_NAME = TextShape(r"[A-Z][A-Za-z0-9_]*", what="an UpperCamelCase name without 'diopi'")
HEADER_NAME = TextShape(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*\.h(?:h|pp|xx)?", what="a header's file name")
OVERLOAD = TextShape(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?", what="an ATen overload such as add.out")
CONSTRAINT_ID = TextShape(r"C[1-9][0-9]*", what="a constraint id such as C1")
VERSION = TextShape(r"[0-9]+\.[0-9]+(?:\.[0-9]+)?", what="a version in quotes such as '1.0'")
FLAG = BooleanShape()
NAMES = ListShape(WORD, non_empty=True)
RECIPE = MapShape(AnyShape())


def overload_list(name: TextShape, **more: Field) -> ListShape:
    """A list of overloads, each by its name, or with what it fixes, how its arguments are called, and `more`."""
    about = "parameters with the names of their arguments, where neither names nor order tell"
    fields = {
        "overload": Field(name, f"the {name.what.partition(' ')[2].partition(' such')[0]}", required=True),
        "bind": Field(MapShape(LiteralShape()), "parameters that it fixes, with values"),
        "names": Field(MapShape(WORD), about),
        **more,
    }
    return ListShape(EitherShape((name, RecordShape("overload", fields))))


OVERLOADS = overload_list(OVERLOAD)
