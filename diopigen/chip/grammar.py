"""The grammar of a chip's file, as data: the reader and the published JSON Schema build on the same table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diopigen.chip.model import MOST_DIMENSIONS
from diopigen.config.grammar import is_operator
from diopigen.config.model import LAYOUTS
from diopigen.contract.dtypes import MANTISSA
from diopigen.ir.kernels import KERNEL_FUNCTIONS
from diopigen.ir.model import Interface
from diopigen.spec.grammar_operators import TOLERANCES
from diopigen.spec.schema import (
    BooleanShape,
    Field,
    IntegerShape,
    ListShape,
    LiteralShape,
    RecordShape,
    TextShape,
    to_json_schema,
)

KIND = "chip"


def shape(dtypes: Sequence[str], operators: Sequence[str] = ()) -> RecordShape:
    """Shape of a file. With `operators` the names are a closed list, which editors complete."""
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
            "max_rank": Field(
                IntegerShape(1, MOST_DIMENSIONS), "the most dimensions of a tensor (default: that of the chip)"
            ),
            "alignment": Field(
                IntegerShape(1), "bytes that the start of every buffer is a multiple of (default: that of the chip)"
            ),
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
            "max_rank": Field(IntegerShape(1, MOST_DIMENSIONS), "the most dimensions of a tensor", required=True),
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
            "peaks": Field(_peaks(dtypes), "the limits of its speed, which `conformance speed` compares times with"),
            "accuracy": Field(
                ListShape(_accuracy(names), non_empty=True),
                "how exact results are, where they are less or more exact than the suite's classes ask for",
            ),
        },
    )


def _peaks(dtypes: Sequence[str]) -> RecordShape:
    """The limits of the speed of one device."""
    rates = {dtype: Field(IntegerShape(1), f"of {dtype}") for dtype in dtypes}
    return RecordShape(
        "peaks",
        {
            "bandwidth": Field(IntegerShape(1), "GB (10^9 bytes) a second between memory and processors"),
            "cache": Field(IntegerShape(1), "bytes of the last-level cache, beyond which data comes from memory"),
            "operations": Field(
                RecordShape("rates", rates),
                "10^9 operations a second by dtype; a multiplication and an addition are two",
            ),
        },
    )


def _accuracy(names: TextShape) -> RecordShape:
    """An entry about the results of functions, of elementary functions, of tolerance classes, or of everything."""
    floats = TextShape(choices=tuple(MANTISSA))
    elementary = tuple(sorted(name for name, one in KERNEL_FUNCTIONS.items() if one.result in ("number", "complex")))
    return RecordShape(
        "accuracy",
        {
            "doc": Field(TextShape(), "why, such as how the unit computes"),
            "functions": Field(ListShape(names, non_empty=True), "the functions whose results it is about"),
            "elementary": Field(
                ListShape(TextShape(choices=elementary), non_empty=True),
                "functions of kernel expressions, such as exp: it is about each operator whose kernel calls them",
            ),
            "classes": Field(
                ListShape(TextShape(choices=TOLERANCES), non_empty=True),
                "tolerance classes of the spec, whose functions it is about (default: all results)",
            ),
            "dtypes": Field(
                ListShape(floats, non_empty=True), "the dtypes of the results that it is about (default: all floats)"
            ),
            "ulp": Field(LiteralShape(), "the largest error of a result in units in the last place, from 0.5 on"),
            "accumulate": Field(floats, "the dtype in which terms are added up"),
            "product_bits": Field(
                IntegerShape(1),
                "bits of the significand, the hidden one included, that factors of products are rounded to: 11 is TF32",
            ),
            "flush_denormals": Field(BooleanShape(), "whether denormals are read and written as zero"),
            "batch_invariant": Field(
                BooleanShape(), "whether the result of a row has the same bytes whichever rows are computed with it"
            ),
        },
    )


def json_schema(interface: Interface) -> dict[str, Any]:
    """The draft-07 JSON Schema of a chip's file, with the names of the interface."""
    operators = [function.name for function in interface.functions if is_operator(function)]
    return to_json_schema(shape([dtype.name for dtype in interface.dtypes], operators), "diopigen chip file")
