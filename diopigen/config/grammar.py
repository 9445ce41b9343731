"""The grammar of convert_config.yaml as tables: the keys, what each is for, and the JSON Schema that follows.

The schema takes the names of operators, families and dtypes from an interface, so that an editor completes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from diopigen.config.entries import COMMON, FAMILY
from diopigen.config.model import LAYOUTS
from diopigen.ir.model import Function, Interface
from diopigen.spec.schema import (
    AnyShape,
    BooleanShape,
    EitherShape,
    Field,
    ListShape,
    MapShape,
    NullShape,
    RecordShape,
    Shape,
    TextShape,
    to_json_schema,
)

TENSOR_TYPES = frozenset({"tensor", "tensors", "new_tensor", "new_tensors"})
"""The types of parameters that a shim can convert."""

DTYPE = "dtype"
TENSOR_DTYPE = "tensor_dtype"
LAYOUT = "layout"
CONTIGUOUS = "contiguous"
COMPOSITE = "supportComposite"
FAMILY_NAME = "name"

KEYS = {
    DTYPE: "dtypes that the kernels do not take, and what they get instead: (int64)->int32, (float64)->float32",
    TENSOR_DTYPE: "the same for single parameters: a mapping from parameter to conversions",
    LAYOUT: "the layouts that the kernels take, best first; ND for any; input(NHWC) for one tensor",
    CONTIGUOUS: "true where tensors must be dense and in order; or the parameters that must be",
    COMPOSITE: "accepted in older files, without effect",
}
"""The keys of an entry, with what each is for."""


def convertible(function: Function) -> tuple[str, ...]:
    """The parameters of a function that a shim can convert, in order."""
    return tuple(param.name for param in function.params if param.type in TENSOR_TYPES)


def is_operator(function: Function) -> bool:
    """Returns whether vendors implement the function; those of the runtime are the host's."""
    return function.family != "runtime"


def is_configurable(function: Function) -> bool:
    """Returns whether shims may convert its arguments: it computes on tensors."""
    return is_operator(function) and not function.is_collective


def json_schema(interface: Interface) -> dict[str, Any]:
    """The JSON Schema (draft-07) of a convert_config.yaml over an interface."""
    functions = [function for function in interface.functions if is_configurable(function)]
    families = tuple(dict.fromkeys(function.family for function in functions))
    shapes = _shapes([dtype.name for dtype in interface.dtypes])
    operator = {key: Field(shapes[key], doc) for key, doc in KEYS.items()}
    name = Field(TextShape(choices=families), "the family, as `diopigen explain` names it", required=True)
    definitions = {
        "settings": RecordShape("operator", operator),
        "family": RecordShape("family", {FAMILY_NAME: name, **operator}),
    }
    settings = {"$ref": "#/definitions/settings"}
    entry = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {
            COMMON: settings,
            FAMILY: {"$ref": "#/definitions/family"},
            **{function.name: settings for function in functions},
        },
    }
    document = to_json_schema(AnyShape(), "convert_config.yaml")
    definitions_schema = {key: _definition(shape) for key, shape in definitions.items()}
    return {**document, "type": ["array", "null"], "items": entry, "definitions": definitions_schema}


def _definition(shape: RecordShape) -> dict[str, Any]:
    """A record without the schema's head; settings may be left out, a family's name may not."""
    schema = to_json_schema(shape, shape.name)
    del schema["$schema"]
    return schema if "required" in schema else {**schema, "type": ["object", "null"]}


def _shapes(dtypes: Iterable[str]) -> dict[str, Shape]:
    """The shape of each key. Values may be left out, which says nothing, and lists may be YAML lists."""
    casts = TextShape(_casts_pattern(dtypes), what="conversions such as (int64)->int32")
    layouts = TextShape(_layouts_pattern(), what="layouts such as NHWC, input(NCHW)")
    names = TextShape(_listed(_WORD), what="names of parameters")
    nothing = NullShape()
    return {
        DTYPE: EitherShape((casts, ListShape(casts), nothing)),
        TENSOR_DTYPE: EitherShape((MapShape(EitherShape((casts, ListShape(casts), nothing))), nothing)),
        LAYOUT: EitherShape((layouts, ListShape(layouts), nothing)),
        CONTIGUOUS: EitherShape((BooleanShape(), names, ListShape(names), nothing)),
        COMPOSITE: EitherShape((BooleanShape(), nothing)),
    }


_SPACE = r"[\s　]*"
_WORD = r"[A-Za-z0-9_.]+"
_COMMA = f"{_SPACE}[,，、]{_SPACE}"
_OPEN, _CLOSE = f"[(（]{_SPACE}", f"{_SPACE}[)）]"
_ARROW = f"{_SPACE}(?:[-－][>＞]|→){_SPACE}"


def _listed(item: str) -> str:
    return f"{_SPACE}{item}(?:{_COMMA}{item})*{_SPACE}"


def _casts_pattern(dtypes: Iterable[str]) -> str:
    name = f"(?:{'|'.join(dtypes)})"
    cast = f"{_OPEN}{name}(?:{_COMMA}{name})*{_CLOSE}{_ARROW}{name}"
    return f"{_SPACE}none{_SPACE}|{_listed(cast)}"


def _layouts_pattern() -> str:
    name = f"(?:{'|'.join(LAYOUTS)})"
    of_one = f"{_WORD}{_SPACE}{_OPEN}{name}(?:{_COMMA}{name})*{_CLOSE}"
    return _listed(f"(?:{name}|{of_one})")
