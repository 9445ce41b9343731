"""The grammar of the files that declare types, headers and device functions."""

from __future__ import annotations

from diopigen.spec.grammar_operators import OPERATORS_FILE
from diopigen.spec.grammar_words import C_TYPE, FLAG, HEADER_NAME, NAMES, PREFIX, RESULT_TYPE, TEXT, WORD
from diopigen.spec.schema import Field, IntegerShape, ListShape, RecordShape, TextShape

RUNTIME_FILE = RecordShape(
    "runtime file",
    {
        **OPERATORS_FILE.fields,
        "device_functions": Field(
            ListShape(
                RecordShape(
                    "device function",
                    {
                        "name": Field(WORD, "its name in the registration contract", required=True),
                        "doc": Field(TEXT, "what it does", required=True),
                        "returns": Field(C_TYPE, "its C return type", required=True),
                        "params": Field(
                            ListShape(
                                RecordShape(
                                    "parameter",
                                    {
                                        "name": Field(WORD, "its name", required=True),
                                        "c_type": Field(C_TYPE, "its C type", required=True),
                                        "doc": Field(TEXT, "its role", required=True),
                                    },
                                )
                            ),
                            "its parameters",
                            required=True,
                        ),
                        "register": Field(WORD, "the function that registers it", required=True),
                        "linked_name": Field(WORD, "its name in the link-time form", required=True),
                        "missing_error": Field(WORD, "the status where it is not registered", required=True),
                    },
                )
            ),
            "what a vendor registers in initLibrary()",
            required=True,
        ),
    },
)

_NAMED = {"name": Field(WORD, "its name in C", required=True), "doc": Field(TEXT, "what it is", required=True)}
_TYPE = {**_NAMED, "header": Field(HEADER_NAME, "the header that declares it, where it is not that of all types")}

TYPES_FILE = RecordShape(
    "types file",
    {
        "version": Field(
            RecordShape(
                "version",
                {
                    part: Field(IntegerShape(0), f"{part} version", required=True)
                    for part in ("major", "minor", "patch")
                },
            ),
            "the interface version",
            required=True,
        ),
        "header": Field(HEADER_NAME, "the header that declares the types", required=True),
        "prefix": Field(PREFIX, "what the names of all functions begin with (default: diopi)"),
        "status": Field(RESULT_TYPE, "what functions return unless they say otherwise (default: diopiError_t)"),
        "enums": Field(
            ListShape(
                RecordShape(
                    "enum",
                    {
                        **_TYPE,
                        "values": Field(
                            ListShape(
                                RecordShape(
                                    "enum value",
                                    {
                                        **_NAMED,
                                        "value": Field(IntegerShape(), "its number", required=True),
                                        "alias": Field(FLAG, "true where a value before it has the same number"),
                                    },
                                ),
                                non_empty=True,
                            ),
                            "its values in order",
                            required=True,
                        ),
                    },
                )
            ),
            "the enums",
            required=True,
        ),
        "structs": Field(
            ListShape(
                RecordShape(
                    "struct",
                    {
                        **_TYPE,
                        "size": Field(IntegerShape(1), "bytes", required=True),
                        "align": Field(IntegerShape(1), "bytes", required=True),
                        "fields": Field(
                            ListShape(
                                RecordShape(
                                    "field",
                                    {
                                        **_NAMED,
                                        "c_type": Field(C_TYPE, "its C type", required=True),
                                        "offset": Field(IntegerShape(0), "bytes from the start", required=True),
                                    },
                                ),
                                non_empty=True,
                            ),
                            "its members; members at one offset are a union",
                            required=True,
                        ),
                    },
                )
            ),
            "the structs passed by value or pointer",
            required=True,
        ),
        "handles": Field(
            ListShape(RecordShape("handle", {**_TYPE, "c_type": Field(C_TYPE, "what it stands for", required=True)})),
            "typedefs of opaque pointers and plain types",
            required=True,
        ),
        "dtypes": Field(
            ListShape(
                RecordShape(
                    "dtype",
                    {
                        "name": Field(WORD, "its name in the spec", required=True),
                        "enum": Field(WORD, "the value of diopiDtype_t", required=True),
                        "bytes": Field(IntegerShape(1), "bytes of an element", required=True),
                        "kind": Field(
                            TextShape(choices=("bool", "unsigned", "signed", "floating", "complex")),
                            "its kind",
                            required=True,
                        ),
                        "digits": Field(IntegerShape(1), "bits of the significand, the hidden one too"),
                        "exponent": Field(IntegerShape(1), "bits of its exponent"),
                        "largest": Field(IntegerShape(1), "its largest element, if no exponent is left for infinity"),
                        "compute": Field(WORD, "the dtype that its elements are computed in; itself if not given"),
                        "real": Field(WORD, "the dtype of a complex dtype's real part"),
                        "complex": Field(WORD, "the complex dtype that a floating dtype becomes"),
                        "c": Field(WORD, "the C type that stores an element"),
                        "numpy": Field(WORD, "the NumPy dtype that stores an element"),
                        "aten": Field(WORD, "the value of at::ScalarType"),
                        "dlpack": Field(IntegerShape(1), "the value of DLDataTypeCode, if its kind has several"),
                    },
                )
            ),
            "element types",
            required=True,
        ),
        "dtype_sets": Field(
            ListShape(
                RecordShape(
                    "dtype set",
                    {**_NAMED, "of": Field(NAMES, "dtypes and sets that were named before", required=True)},
                )
            ),
            "names for lists of dtypes",
            required=True,
        ),
    },
)

HEADERS_FILE = RecordShape(
    "headers file",
    {
        "headers": Field(
            ListShape(
                RecordShape(
                    "header",
                    {
                        "file": Field(HEADER_NAME, "its file name", required=True),
                        "doc": Field(TEXT, "what it declares", required=True),
                        "includes": Field(ListShape(HEADER_NAME), "headers of the interface that it includes"),
                        "order": Field(
                            ListShape(WORD),
                            "functions in the order that is frozen; later ones follow in the order of the files",
                            required=True,
                        ),
                        "not_covered": Field(
                            TEXT, "why suite and reference libraries may leave out functions of this header"
                        ),
                    },
                )
            ),
            "the headers in order",
            required=True,
        ),
    },
)
