"""The grammar of every spec file as tables. `docs/spec.md` explains what is here."""

from __future__ import annotations

from diopigen.spec.schema import (
    AnyShape,
    BooleanShape,
    EitherShape,
    Field,
    IntegerShape,
    ListShape,
    LiteralShape,
    MapShape,
    RecordShape,
    TextShape,
)

TEXT = TextShape()
WORD = TextShape(r"[A-Za-z_][A-Za-z0-9_]*", what="a name (letters, digits, _)")
OPERATOR_NAME = TextShape(r"[A-Z][A-Za-z0-9_]*", what="an UpperCamelCase name without 'diopi'")
C_FUNCTION = TextShape(r"diopi[A-Z0-9][A-Za-z0-9_]*", what="the name of a C function (diopi...)")
HEADER_NAME = TextShape(r"[a-z][a-z0-9_]*\.h", what="a header's file name")
OVERLOAD = TextShape(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?", what="an ATen overload such as add.out")
CONSTRAINT_ID = TextShape(r"C[1-9][0-9]*", what="a constraint id such as C1")
VERSION = TextShape(r"[0-9]+\.[0-9]+(?:\.[0-9]+)?", what="a version in quotes such as '1.0'")
FLAG = BooleanShape()
NAMES = ListShape(WORD, non_empty=True)
OVERLOADS = ListShape(OVERLOAD)
RECIPE = MapShape(AnyShape())

DIRECTIONS = ("in", "out", "inout", "partial_out")
TOLERANCES = (
    "exact",
    "rounding",
    "transcendental",
    "reduction",
    "matmul",
    "convolution",
    "attention",
    "approximate",
    "random",
)
FREEDOMS = ("nullability", "dtype", "shape", "device")
"""Respects in which a vendor may reject or accept what goes beyond the rules of a parameter."""
VARIANT_KINDS = ("inplace", "scalar", "inplace_scalar")

DTYPE = EitherShape((TEXT, ListShape(WORD, non_empty=True)))
SHAPE = EitherShape((TEXT, ListShape(EitherShape((IntegerShape(0), TEXT)))))

COUNT = EitherShape((IntegerShape(0), TEXT, ListShape(IntegerShape(0), non_empty=True)))

_PARAM_FIELDS = {
    "name": Field(WORD, "the parameter's name in C", required=True),
    "type": Field(WORD, "a type of the table in docs/spec.md", required=True),
    "direction": Field(TextShape(choices=DIRECTIONS), "in, out, inout or partial_out"),
    "dtype": Field(DTYPE, "a list of dtypes and dtype sets, or a dtype rule"),
    "shape": Field(SHAPE, "a shape rule, or a list of dimensions"),
    "nullable": Field(FLAG, "whether null is allowed"),
    "free": Field(
        ListShape(TextShape(choices=FREEDOMS), non_empty=True),
        "in what respect a vendor may accept or reject more than the rules say: nullability, dtype, shape, device",
    ),
    "count": Field(EitherShape((WORD, IntegerShape(0))), "the parameter that holds the length, or the length"),
    "default": Field(EitherShape((LiteralShape(), ListShape(LiteralShape()))), "what a framework passes by default"),
    "values": Field(ListShape(TEXT, non_empty=True), "the accepted strings"),
    "const": Field(FLAG, "whether the C parameter is const by value"),
    "mutable": Field(FLAG, "whether C passes it without const although it is only read"),
    "unnamed": Field(FLAG, "whether the C declaration leaves the name out"),
    "pointer": Field(FLAG, "whether C passes it by a pointer that must not be null"),
    "sparse": Field(FLAG, "whether it is a matrix in compressed sparse rows; all other tensors are dense"),
    "shares": Field(WORD, "the other output that may be the same tensor; without it outputs share no memory"),
    "dim_of": Field(WORD, "the tensor or list of sizes whose dimension it names, counted from either end"),
    "range": Field(TEXT, "the interval that its value, or each entry, is in: '[0, 1)', '[1, inf)', '[0, len(sizes)]'"),
    "length": Field(COUNT, "how many entries it has: a number, a list of numbers, an interval or an expression"),
    "rank": Field(COUNT, "how many dimensions it has: a number, a list of numbers, an interval or an expression"),
    "domain": Field(TEXT, "how legal elements are drawn, as the values of a recipe"),
    "doc": Field(TEXT, "one line that says its role", required=True),
}
PARAM = RecordShape("parameter", _PARAM_FIELDS)
_OF_THE_BASE = ("name", "shares")
"""Keys that say what a parameter is to others, in every variant."""
PARAM_OVERRIDE = RecordShape(
    "parameter override",
    {key: Field(known.shape, known.doc) for key, known in _PARAM_FIELDS.items() if key not in _OF_THE_BASE},
)

CONSTRAINT = RecordShape(
    "constraint",
    {
        "id": Field(CONSTRAINT_ID, "C1, C2, ... within the operator", required=True),
        "require": Field(TEXT, "the predicate that must hold, over the parameters: see Predicates in docs/spec.md"),
        "note": Field(TEXT, "what must hold, in words for people"),
        "checked": Field(
            TextShape(choices=("by call", "by kernel", "by library")),
            "who can evaluate it: by kernel where it reads elements, by library where no predicate says it",
        ),
        "error": Field(WORD, "the diopiError_t value that a violation returns", required=True),
        "case": Field(RECIPE, "arguments that break it"),
        "untestable": Field(TEXT, "why no case can be written"),
    },
)
KERNEL = EitherShape((TEXT, MapShape(TEXT, fixed={"let": MapShape(TEXT)})))

VARIANT = RecordShape(
    "variant",
    {
        "kind": Field(TextShape(choices=VARIANT_KINDS), "inplace, scalar or inplace_scalar", required=True),
        "name": Field(OPERATOR_NAME, "its name where it is irregular"),
        "operands": Field(NAMES, "the parameters that become scalars"),
        "target": Field(WORD, "the parameter that is written in place"),
        "doc": Field(TEXT, "what it computes, where the base's text does not fit"),
        "aten": Field(OVERLOADS, "ATen overloads that this function serves"),
        "params": Field(MapShape(PARAM_OVERRIDE), "keys of parameters that differ from the base"),
        "kernel": Field(KERNEL, "its expression, where it differs"),
        "constraints": Field(ListShape(CONSTRAINT), "its constraints, in place of the base's"),
        "cases": Field(ListShape(RECIPE), "its argument recipes, in place of the base's"),
        "deprecated": Field(TEXT, "why, and what to use instead"),
    },
)

OPERATOR = RecordShape(
    "operator",
    {
        "name": Field(OPERATOR_NAME, "the C function's name without 'diopi'", required=True),
        "doc": Field(TEXT, "what it computes", required=True),
        "params": Field(ListShape(PARAM), "the parameters in C order, without the context", required=True),
        "variants": Field(
            ListShape(EitherShape((TextShape(choices=VARIANT_KINDS), VARIANT))), "further functions that follow from it"
        ),
        "kernel": Field(KERNEL, "the elementwise expression"),
        "constraints": Field(ListShape(CONSTRAINT), "what a caller must keep beyond types, dtypes and shapes"),
        "cases": Field(ListShape(RECIPE), "argument recipes for the conformance suite"),
        "aten": Field(OVERLOADS, "ATen overloads that this function serves"),
        "backward_of": Field(OPERATOR_NAME, "the operator whose gradient this is"),
        "tolerance": Field(TextShape(choices=TOLERANCES), "how results are compared"),
        "since": Field(VERSION, "the interface version that brought it"),
        "deprecated": Field(TEXT, "why, and what to use instead"),
        "linkage": Field(TextShape(choices=("weak", "strong")), "weak or strong symbol"),
        "returns": Field(TextShape(choices=("status", "string")), "status (diopiError_t) or string"),
        "context": Field(FLAG, "false where the C function takes no context"),
        "irregular_order": Field(TEXT, "why an output comes after an input"),
        "draft": Field(FLAG, "true while directions, dtypes or shapes are open: check warns of them, headers follow"),
        "source": Field(TEXT, "what defines the result"),
    },
)

OPERATORS_FILE = RecordShape(
    "operators file",
    {
        "family": Field(WORD, "the family of all operators in the file", required=True),
        "header": Field(HEADER_NAME, "the header that declares them", required=True),
        "doc": Field(TEXT, "what the family is"),
        "operators": Field(ListShape(OPERATOR), "the operators", required=True),
    },
)

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
                        "returns": Field(TEXT, "its C return type", required=True),
                        "params": Field(
                            ListShape(
                                RecordShape(
                                    "parameter",
                                    {
                                        "name": Field(WORD, "its name", required=True),
                                        "c_type": Field(TEXT, "its C type", required=True),
                                        "doc": Field(TEXT, "its role", required=True),
                                    },
                                )
                            ),
                            "its parameters",
                            required=True,
                        ),
                        "register": Field(C_FUNCTION, "the function that registers it", required=True),
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
        "enums": Field(
            ListShape(
                RecordShape(
                    "enum",
                    {
                        **_NAMED,
                        "values": Field(
                            ListShape(
                                RecordShape(
                                    "enum value",
                                    {**_NAMED, "value": Field(IntegerShape(0), "its number", required=True)},
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
                        **_NAMED,
                        "size": Field(IntegerShape(1), "bytes", required=True),
                        "align": Field(IntegerShape(1), "bytes", required=True),
                        "fields": Field(
                            ListShape(
                                RecordShape(
                                    "field",
                                    {
                                        **_NAMED,
                                        "c_type": Field(TEXT, "its C type", required=True),
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
            ListShape(RecordShape("handle", {**_NAMED, "c_type": Field(TEXT, "what it stands for", required=True)})),
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
                            ListShape(C_FUNCTION),
                            "functions in the order that is frozen; later ones follow in the order of the files",
                            required=True,
                        ),
                    },
                )
            ),
            "the headers in order",
            required=True,
        ),
    },
)

ATEN_FILE = RecordShape(
    "ATen schemas",
    {
        "torch": Field(TEXT, "the release that the schemas are from", required=True),
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
        "dtype": Field(WORD, "the dtype of its leading tensor, and of all that say none", required=True),
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

FILES = {
    "ops": OPERATORS_FILE,
    "runtime": RUNTIME_FILE,
    "types": TYPES_FILE,
    "headers": HEADERS_FILE,
    "aten": ATEN_FILE,
    "torch": TORCH_FILE,
    "model": MODEL_FILE,
}
"""The file kinds; `specs/schema/<kind>.schema.json` is printed from each."""
