"""The grammar of the calls that a model makes."""

from __future__ import annotations

from diopigen.spec.grammar_words import DTYPE_NAME, OPERATOR_NAME, RECIPE, TEXT, WORD
from diopigen.spec.schema import Field, IntegerShape, ListShape, RecordShape, TextShape

_USES = {
    "phase": Field(WORD, "the phase that it belongs to, such as forward or optimizer", required=True),
    "aten": Field(TEXT, "the overload that was traced", required=True),
    "count": Field(IntegerShape(1), "how often it is called in the phase", required=True),
}

MODEL_CALL = RecordShape(
    "call of a model",
    {
        **_USES,
        "function": Field(OPERATOR_NAME, "the C function without 'diopi'", required=True),
        "dtype": Field(DTYPE_NAME, "the dtype of its primary tensor, and of all that say none", required=True),
        "arguments": Field(RECIPE, "an argument recipe, as in the cases of an operator", required=True),
        "scale": Field(TextShape(choices=("reduced",)), "reduced where a shape is smaller than the model's"),
        "why": Field(TEXT, "why it was reduced, and from what"),
    },
)

MODEL_FILE = RecordShape(
    "model file",
    {
        "model": Field(WORD, "the model's name, that of the file", required=True),
        "doc": Field(TEXT, "what was run, with what sizes", required=True),
        "torch": Field(TEXT, "the release that it was traced with", required=True),
        "calls": Field(
            ListShape(MODEL_CALL), "its calls, equal ones once, in the order of their first use", required=True
        ),
        "unmapped": Field(
            ListShape(
                RecordShape("unmapped call", {**_USES, "why": Field(TEXT, "why no function serves it", required=True)})
            ),
            "what the model needs and no function of the interface does",
            required=True,
        ),
        "views": Field(ListShape(RecordShape("view", _USES)), "views, which call nothing on the device", required=True),
        "allocations": Field(
            ListShape(RecordShape("allocation", _USES)),
            "tensors that the framework makes without values",
            required=True,
        ),
    },
)
