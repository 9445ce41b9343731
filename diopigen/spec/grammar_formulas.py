"""The grammar of the file with the functions of expressions that are formulas."""

from __future__ import annotations

from diopigen.spec.grammar_words import TEXT, WORD
from diopigen.spec.schema import Field, ListShape, MapShape, RecordShape

FORMULA = RecordShape(
    "a formula",
    {
        "name": Field(WORD, "what expressions call it", required=True),
        "parameters": Field(MapShape(WORD), "its parameters in order, each with its kind", required=True),
        "result": Field(WORD, "the kind of its value", required=True),
        "doc": Field(TEXT, "what it is, in words", required=True),
        "value": Field(TEXT, "an expression over the parameters", required=True),
    },
)
FORMULAS_FILE = RecordShape(
    "formulas of expressions",
    {"formulas": Field(ListShape(FORMULA), "functions; each may call those of any entry", required=True)},
)
