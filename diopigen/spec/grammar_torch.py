"""The grammar of the files about ATen and the glue for PyTorch."""

from __future__ import annotations

from diopigen.spec.grammar_words import TEXT, VERSION, WORD
from diopigen.spec.schema import BooleanShape, Field, ListShape, RecordShape, TextShape

ATEN_FILE = RecordShape(
    "ATen schemas",
    {
        "torch": Field(VERSION, "the release of torch that has them; a file without it has those of all releases"),
        "structured": Field(
            ListShape(
                RecordShape(
                    "a group of structured operators",
                    {
                        "meta": Field(WORD, "what its class in at::meta is called, after structured_", required=True),
                        "out": Field(TEXT, "the overload that writes to given tensors", required=True),
                        "functional": Field(TEXT, "the overload that makes its results", required=True),
                        "inplace": Field(TEXT, "the overload that works in place"),
                        "iterator": Field(BooleanShape(), "whether the class is a TensorIterator"),
                        "alike": Field(
                            TextShape(choices=("floating", "real", "compared")),
                            "the result's dtype where all operands have one shape and dtype: theirs, for floating ones "
                            "alone or for integers as well; or bool for both",
                        ),
                    },
                )
            ),
            "groups of operators whose shapes and dtypes torch can tell by itself",
        ),
        "needed": Field(ListShape(TEXT), "overloads for which a new device has no kernel unless it brings one"),
        "schemas": Field(ListShape(TEXT), "schemas as native_functions.yaml writes them", required=True),
    },
)

TORCH_REASONS = {
    "no-meta": "neither torch nor the rules of the spec say shapes and dtypes of its results; the implementation does",
    "arguments": "torch has a meta function; the arguments are not those of a function of the interface",
    "meaning": "a kernel could be generated, but PyTorch means more than the function that it would call",
    "composition": "no function of the interface does it; it is made of several calls",
    "lists": "it works on lists of tensors, each of which is a call or an entry of one",
    "allocated": "the function of the interface makes its results, whose shapes depend on data",
    "preferred": "a new device can do without it: torch composes it of others, or does not offer it",
}
"""Why a kernel for PyTorch is handwritten. `emit/torch/reasons.py` checks that the reason holds."""

TORCH_FILE = RecordShape(
    "glue for PyTorch",
    {
        "handwritten": Field(
            ListShape(
                RecordShape(
                    "a handwritten kernel",
                    {
                        "overload": Field(TEXT, "the ATen overload whose signature it has", required=True),
                        "also": Field(
                            ListShape(TEXT),
                            "overloads of other names that it serves; other forms of the overload are found",
                        ),
                        "function": Field(
                            WORD, "the C++ function of diopigen::backend::kernels, unless it is called as the overload"
                        ),
                        "planned": Field(
                            BooleanShape(),
                            "true where compiled graphs make its one call, if the operands need no conversion",
                        ),
                        "calls": Field(ListShape(WORD), "functions of the interface that it calls, without diopi"),
                        "why": Field(
                            TextShape(choices=tuple(TORCH_REASONS)),
                            "; ".join(f"{name}: {text}" for name, text in TORCH_REASONS.items()),
                            required=True,
                        ),
                    },
                )
            ),
            "kernels that a person wrote",
            required=True,
        ),
        "left_out": Field(
            ListShape(
                RecordShape(
                    "an overload that is not served",
                    {
                        "overload": Field(TEXT, "the ATen overload", required=True),
                        "why": Field(TEXT, "why it is left to others", required=True),
                    },
                )
            ),
            "overloads that functions of the interface name and that the glue does not serve",
        ),
    },
)
