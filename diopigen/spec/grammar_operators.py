"""The grammar of a file of operators."""

from __future__ import annotations

from diopigen.spec.grammar_words import (
    C_TYPE,
    CONSTRAINT_ID,
    DTYPE_OR_SET,
    FLAG,
    HEADER_NAME,
    NAMES,
    OPERATOR_NAME,
    OVERLOAD,
    OVERLOADS,
    RECIPE,
    RESULT_TYPE,
    TEXT,
    TYPE_NAME,
    VERSION,
    WORD,
)
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
UNSPECIFIED = {
    "special_values": "results for infinities and NaN among the operands",
    "overflow": "results where the largest numbers overflow between the steps of the operator",
    "empty": "results for no samples",
    "indices": "results for indices that the forward operator did not return",
}
"""Unspecified properties of an operator: the suite has no case for them."""
VARIANT_KINDS = ("inplace", "scalar", "inplace_scalar")

DTYPE = EitherShape(
    (
        TextShape(vocabulary="dtype_or_set", calls="dtype_rule"),
        ListShape(DTYPE_OR_SET, non_empty=True),
    )
)
SHAPE = EitherShape((TEXT, ListShape(EitherShape((IntegerShape(0), TEXT)))))

COUNT = EitherShape((IntegerShape(0), TEXT, ListShape(IntegerShape(0), non_empty=True)))

UNORDERED = RecordShape(
    "open order",
    {
        "where": Field(TEXT, "the predicate under which the order is open", required=True),
        "along": Field(
            EitherShape((WORD, IntegerShape(0))),
            "the dimension whose entries may be in any order, or the parameter that names it",
            required=True,
        ),
    },
)
LATITUDE = RecordShape(
    "latitude",
    {
        "terms": Field(TEXT, "the size of the terms that established forms of the kernel add up, as an expression"),
        "free": Field(TEXT, "where any result is accepted, as an expression"),
        "dtypes": Field(DTYPE, "the dtypes of the computation that it is about (default: all)"),
    },
)

TIES = RecordShape(
    "open ties",
    {
        "where": Field(TEXT, "the predicate under which equal elements may stand for each other", required=True),
        "of": Field(WORD, "the input that the entries are indices into"),
        "along": Field(
            EitherShape((WORD, IntegerShape(0))),
            "the dimension of that input that indices count in, or the parameter that names it",
        ),
    },
)

OVERLAP = RecordShape(
    "overlap",
    {
        "buffer": Field(WORD, "the other buffer", required=True),
        "offset": Field(TEXT, "where in it the buffer starts, in elements, as an expression", required=True),
    },
)

_PARAM_FIELDS = {
    "name": Field(WORD, "the parameter's name in C", required=True),
    "type": Field(TYPE_NAME, "a type of the table in docs/spec.md", required=True),
    "direction": Field(TextShape(choices=DIRECTIONS), "in, out, inout or partial_out"),
    "dtype": Field(DTYPE, "a list of dtypes and dtype sets, or a dtype rule"),
    "shape": Field(SHAPE, "a shape rule, or a list of dimensions"),
    "nullable": Field(FLAG, "whether null is allowed"),
    "free": Field(
        ListShape(TextShape(choices=FREEDOMS), non_empty=True),
        "in what respect a vendor may accept or reject more than the rules say: nullability, dtype, shape, device",
    ),
    "c_type": Field(C_TYPE, "the C type of an opaque parameter, where it is no pointer to void"),
    "count": Field(EitherShape((WORD, IntegerShape(0))), "the parameter that holds the length, or the length"),
    "default": Field(EitherShape((LiteralShape(), ListShape(LiteralShape()))), "what a framework passes by default"),
    "example": Field(LiteralShape(), "a number that tells right results from wrong ones, where the suite needs one"),
    "values": Field(ListShape(TEXT, non_empty=True), "the accepted strings"),
    "const": Field(FLAG, "whether the C parameter is const by value"),
    "mutable": Field(FLAG, "whether C passes it without const although it is only read"),
    "unnamed": Field(FLAG, "whether the C declaration leaves the name out"),
    "pointer": Field(FLAG, "whether C passes it by a pointer that must not be null"),
    "sparse": Field(FLAG, "whether it is a matrix in compressed sparse rows; all other tensors are dense"),
    "shares": Field(WORD, "the other output that may be the same tensor; without it outputs share no memory"),
    "unordered": Field(UNORDERED, "when the entries of an output may be in any order, and along which dimension"),
    "ties": Field(TIES, "when equal elements may stand for each other in an output, or indices that select them"),
    "dim_of": Field(WORD, "the tensor or list of sizes whose dimension it names, counted from either end"),
    "range": Field(
        TEXT,
        "the interval that its value, or each entry, is in: '[0, 1)', '[1, inf)', '[0, len(sizes)]'; "
        "'any' for an integer every value of which is legal",
    ),
    "length": Field(COUNT, "how many entries it has: a number, a list of numbers, an interval or an expression"),
    "rank": Field(COUNT, "how many dimensions it has: a number, a list of numbers, an interval or an expression"),
    "elements": Field(TEXT, "how many elements a buffer has, as an expression over parameters, rank and nranks"),
    "of": Field(WORD, "the parameter that holds the dtype of a buffer's elements"),
    "on": Field(TEXT, "the ranks that use the buffer, as a predicate; on others it may be null (default: all)"),
    "in_place": Field(OVERLAP, "where a buffer may be in another one; without it they share no memory"),
    "domain": Field(TEXT, "how legal elements are drawn, as the values of a recipe"),
    "typical": Field(TEXT, "how a model's elements are drawn, where they are unlike normal numbers"),
    "doc": Field(TEXT, "one line that says its role", required=True),
}
PARAM = RecordShape("parameter", _PARAM_FIELDS)
_OF_THE_BASE = ("name", "c_type", "shares", "elements", "of", "on", "in_place")
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
FORM = TextShape(r"[a-z][a-z0-9_]*", what="a form of diopi_torch/src/diopi_torch/fused_forms.py such as sum")
FUSED = RecordShape(
    "fused overload",
    {
        "overload": Field(OVERLOAD, "the ATen overload", required=True),
        "form": Field(FORM, "what a fused kernel computes", required=True),
    },
)
KERNEL = EitherShape((TEXT, MapShape(TEXT, fixed={"let": MapShape(TEXT)})))
OPERATIONS = "operations"
"""Entry of `work` besides parameters: the operations of a call."""
WORK = EitherShape((TEXT, MapShape(TEXT, fixed={OPERATIONS: TEXT})))

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
        "since": Field(VERSION, "the interface version that brought it, where that is not the base's"),
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
        "by_hand": Field(TEXT, "why the reference libraries have a handwritten kernel although it has an expression"),
        "constraints": Field(ListShape(CONSTRAINT), "what a caller must keep beyond types, dtypes and shapes"),
        "cases": Field(ListShape(RECIPE), "argument recipes for the conformance suite"),
        "aten": Field(OVERLOADS, "ATen overloads that this function serves"),
        "backward_of": Field(OPERATOR_NAME, "the operator whose gradient this is"),
        "fused": Field(
            EitherShape((FORM, ListShape(FUSED, non_empty=True))),
            "the form that compiled graphs fuse its functional overloads by, or overloads with their forms",
        ),
        "functional": Field(WORD, "the function of torch.nn.functional that computes the same"),
        "planned": Field(FLAG, "true where a rule of the planner of compiled graphs calls it"),
        "tolerance": Field(TextShape(choices=TOLERANCES), "how results are compared"),
        "starter": Field(TEXT, "why it is among the operators that a new vendor starts with"),
        "unspecified": Field(
            ListShape(TextShape(choices=tuple(UNSPECIFIED)), non_empty=True),
            f"what the interface leaves open: {', '.join(UNSPECIFIED)}",
        ),
        "latitude": Field(LATITUDE, "what established forms of the kernel do that its expression does not say"),
        "work": Field(
            WORK,
            "the arithmetic operations of a call that no kernel can avoid, as an expression over sizes; or a mapping "
            "with `operations`, and by parameter how many of its elements a kernel must read or write",
        ),
        "since": Field(VERSION, "the interface version that brought it"),
        "deprecated": Field(TEXT, "why, and what to use instead"),
        "linkage": Field(TextShape(choices=("weak", "strong")), "weak or strong symbol"),
        "returns": Field(RESULT_TYPE, "status (diopiError_t, or that of types.yaml), string, or a C type"),
        "context": Field(FLAG, "false where the C function takes no context"),
        "irregular_order": Field(TEXT, "why an output comes after an input"),
        "draft": Field(FLAG, "true while directions, dtypes or shapes are open: check warns of them, headers follow"),
        "source": Field(TEXT, "what defines the result"),
    },
)

FOREIGN_OPERATOR = RecordShape(
    "operator",
    {
        **OPERATOR.fields,
        "name": Field(WORD, "the C function's name without the prefix of types.yaml", required=True),
        "backward_of": Field(WORD, "the operator whose gradient this is"),
    },
)
"""An operator of an interface whose functions are not called as those of DIOPI are."""

OPERATORS_FILE = RecordShape(
    "operators file",
    {
        "family": Field(WORD, "the family of all operators in the file", required=True),
        "header": Field(HEADER_NAME, "the header that declares them", required=True),
        "doc": Field(TEXT, "what the family is"),
        "operators": Field(ListShape(OPERATOR), "the operators", required=True),
    },
)
FOREIGN_OPERATORS_FILE = RecordShape(
    "operators file",
    {**OPERATORS_FILE.fields, "operators": Field(ListShape(FOREIGN_OPERATOR), "the operators", required=True)},
)
