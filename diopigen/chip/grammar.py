"""The grammar of a chip's file, as data: the reader and the published JSON Schema build on the same table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diopigen.config.grammar import is_operator
from diopigen.config.model import LAYOUTS
from diopigen.ir.model import Interface
from diopigen.spec.schema import BooleanShape, Field, IntegerShape, ListShape, RecordShape, TextShape, to_json_schema

KIND = "chip"


def shape(dtypes: Sequence[str], operators: Sequence[str] = ()) -> RecordShape:
    """What a file may look like. With `operators` the names are a closed list, which editors complete."""
    names = TextShape(r"[A-Za-z_][A-Za-z0-9_]*", tuple(operators), "the name of a function, such as diopiAdd")
    listed_dtypes = ListShape(TextShape(choices=tuple(dtypes)), non_empty=True)
    group = RecordShape(
        "native operators",
        {
            "doc": Field(TextShape(), "what the operators of the group have in common"),
            "names": Field(
                ListShape(names, non_empty=True), "the functions that the chip has kernels for", required=True
            ),
            "dtypes": Field(listed_dtypes, "the dtypes that their kernels take (default: those of the chip)"),
            "layouts": Field(
                ListShape(TextShape(choices=LAYOUTS), non_empty=True),
                "the orders of dimensions that their kernels take; ranks that no entry is about are free",
            ),
            "max_rank": Field(IntegerShape(1), "the most dimensions of a tensor (default: that of the chip)"),
            "contiguous": Field(
                BooleanShape(), "whether their kernels take contiguous tensors alone (default: that of the chip)"
            ),
        },
    )
    return RecordShape(
        KIND,
        {
            "chip": Field(
                TextShape("[a-z][a-z0-9_]*", what="a name in lower case, such as droplet"), "its name", required=True
            ),
            "doc": Field(TextShape(), "what the chip is", required=True),
            "dtypes": Field(
                listed_dtypes, "the dtypes that kernels take where their group says nothing else", required=True
            ),
            "max_rank": Field(IntegerShape(1), "the most dimensions of a tensor", required=True),
            "alignment": Field(
                IntegerShape(1), "bytes that the start of every buffer of a kernel is a multiple of", required=True
            ),
            "contiguous": Field(
                BooleanShape(), "whether kernels take contiguous tensors alone (default: false, they take any strides)"
            ),
            "memory": Field(IntegerShape(1), "bytes of memory on each device (default: 4 GiB)"),
            "operators": Field(
                ListShape(group, non_empty=True),
                "the native operators, in groups (default: every operator with a kernel, as the chip says)",
            ),
        },
    )


def json_schema(interface: Interface) -> dict[str, Any]:
    """The draft-07 JSON Schema of a chip's file, with the names of the interface."""
    operators = [function.name for function in interface.functions if is_operator(function)]
    return to_json_schema(shape([dtype.name for dtype in interface.dtypes], operators), "diopigen chip file")
