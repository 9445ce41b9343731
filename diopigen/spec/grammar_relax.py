"""The grammar of the file about Relax, the graph language of TVM."""

from __future__ import annotations

from diopigen.spec.grammar_words import OPERATOR_NAME, TEXT, WORD
from diopigen.spec.schema import (
    EitherShape,
    Field,
    IntegerShape,
    ListShape,
    LiteralShape,
    MapShape,
    RecordShape,
    TextShape,
)

_NAME = r"(?:nn\.|image\.)?[a-z_][a-z0-9_]*"
RELAX_OPERATOR = TextShape(_NAME, what="an operator of Relax such as nn.conv2d")
SEVERAL = {
    "split": "a slice for each chunk of a tensor that is split",
    "slices": "a slice for each dimension that is cut",
}
"""Operators that several calls of a function compute."""
_WHERE = MapShape(ListShape(EitherShape((LiteralShape(), ListShape(LiteralShape()))), non_empty=True))
_ARGUMENTS = MapShape(EitherShape((TEXT, LiteralShape())))

RELAX_FILE = RecordShape(
    "operators of Relax",
    {
        "release": Field(TEXT, "the release of TVM that the names are of", required=True),
        "views": Field(ListShape(RELAX_OPERATOR), "operators that move nothing"),
        "same": Field(ListShape(RELAX_OPERATOR), "operators of tensors alone that ATen has under the same name"),
        "renamed": Field(MapShape(WORD, _NAME), "operators of tensors alone, and what ATen calls them"),
        "operators": Field(
            ListShape(
                RecordShape(
                    "an operator of Relax",
                    {
                        "relax": Field(RELAX_OPERATOR, "the operator, without relax.", required=True),
                        "call": Field(OPERATOR_NAME, "the function of the interface, without diopi", required=True),
                        "arguments": Field(_ARGUMENTS, "expressions by parameter of the function", required=True),
                        "where": Field(_WHERE, "values that attributes may have; of a list, each element"),
                        "ranks": Field(MapShape(IntegerShape(0)), "numbers of dimensions that operands must have"),
                        "merged": Field(IntegerShape(1), "leading dimensions are merged until there are so many"),
                        "returned": Field(ListShape(WORD), "operands that are results behind those of the function"),
                        "several": Field(TextShape(choices=tuple(SEVERAL)), "how several calls compute it"),
                    },
                )
            ),
            "operators with attributes; the first entry that fits counts",
        ),
        "fused": Field(
            ListShape(
                RecordShape(
                    "operators that one function computes together",
                    {
                        "doc": Field(TEXT, "what it is", required=True),
                        "match": Field(TEXT, "the operators as calls, parameters as names", required=True),
                        "call": Field(OPERATOR_NAME, "the function of the interface, without diopi", required=True),
                        "operator": Field(RELAX_OPERATOR, "whose entry has the arguments that are attributes"),
                        "where": Field(MapShape(_WHERE, _NAME), "values that attributes of an operator may have"),
                        "shapes": Field(
                            MapShape(ListShape(EitherShape((IntegerShape(0), TEXT)))),
                            "shapes of names and results of operators: sizes, any, or a size of a name as in weight.0",
                        ),
                    },
                )
            ),
            "operators that one function computes together",
        ),
    },
)
