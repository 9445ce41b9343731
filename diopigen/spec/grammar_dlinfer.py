"""The grammar of the file about dlinfer, the layer between servers of language models and chips."""

from __future__ import annotations

from diopigen.spec.grammar_words import OPERATOR_NAME, TEXT, WORD
from diopigen.spec.schema import Field, ListShape, MapShape, RecordShape, TextShape

_PARAMETER = TextShape(r"[a-z_][a-z0-9_]*(=.+)?", what="a name, which may have a default such as dim=-1")

DLINFER_FILE = RecordShape(
    "operators of dlinfer",
    {
        "release": Field(TEXT, "the release of dlinfer that the operators are of", required=True),
        "operators": Field(
            ListShape(
                RecordShape(
                    "an operator of dlinfer",
                    {
                        "dlinfer": Field(WORD, "its name in the registry", required=True),
                        "parameters": Field(ListShape(_PARAMETER), "as the registry passes them", required=True),
                        "require": Field(MapShape(TEXT, r".+"), "conditions, and what each one demands"),
                        "before": Field(MapShape(TEXT), "variables, in order, and their expressions"),
                        "call": Field(OPERATOR_NAME, "the function of the interface, without diopi"),
                        "arguments": Field(MapShape(TEXT), "expressions by parameter of the function"),
                        "returns": Field(TEXT, "the results; result is that of the call", required=True),
                    },
                )
            ),
            "operators of the registry",
            required=True,
        ),
    },
)
