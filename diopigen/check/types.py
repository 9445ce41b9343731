"""Types of parameters, and the keys that go with each."""

from __future__ import annotations

import re

from diopigen.check.rule import Subject, open_entry
from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.header.stubs import is_c_word
from diopigen.ir.clauses import Default
from diopigen.ir.keys import KEY_TYPES
from diopigen.ir.model import Function, Parameter, ShapeList
from diopigen.ir.naming import DIOPI
from diopigen.ir.types import INTEGERS, TYPES

RULES = {
    "unknown-type": "A parameter has a type of the grammar, or an enum or handle of types.yaml.",
    "misplaced-key": "A key is only on parameters of a type that has such a thing.",
    "missing-dtype": "Every tensor of an operator says which dtypes it takes or has.",
    "missing-shape": "Every tensor that an operator only writes says which shape it has.",
    "missing-count": "An array names the parameter that holds its length.",
    "bad-default": "A default value fits the type of its parameter.",
    "bad-example": "An example is a number, of a parameter that is a scalar in a form of the operator.",
}

_ARRAYS = frozenset({"tensors", "new_tensors", "generators"})
_CONST = frozenset({"tensor", "sizes", "opaque"})
_HANDLES = frozenset({"tensor", "tensors", "scalar", "string", "generator"})
"""Types that C passes as a pointer or handle whether or not they are nullable."""
_MUTABLE = frozenset({"tensor", "tensors", "scalar", "sizes"})
_SAMPLED = frozenset({"tensor", "tensors"})
_ORDERED = frozenset({"tensor", "new_tensor"})
_WHOSE = {
    "dim_of": "only an integer or a list of integers names dimensions",
    "range": "only a number, a scalar or a list of integers has a range",
    "length": "only a list of integers has a length",
    "rank": "only a tensor or an array of tensors has a rank",
}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    scalars = {(f.operator, param.name) for f in subject.functions for param in f.params if param.type == "scalar"}
    examples: set[Span] = set()
    status = subject.interface.naming.status
    user = next((one for one in subject.functions if status != DIOPI.status and one.returns == "status"), None)
    if user is not None:
        _check_words(subject, user, status, "it returns", user.span, sink)
    for function in subject.functions:
        if function.returns not in ("status", "string"):
            _check_words(subject, function, function.returns, "it returns", function.at("returns"), sink)
        for param in function.params:
            if param.c_type:
                _check_words(subject, function, param.c_type, f"'{param.name}' has", param.at("c_type"), sink)
            if subject.knows_type(param.type):
                _check_keys(function, param, sink)
                _check_default(subject, function, param, sink)
                # Variants inherit the example, faults and all.
                if param.example is not None and param.example.span not in examples:
                    examples.add(param.example.span)
                    _check_example(function, param, param.example, (function.operator, param.name) in scalars, sink)
            else:
                candidates = [*TYPES, *subject.named_types]
                fix = did_you_mean(param.type, candidates) or "see the table of types in docs/spec.md"
                message = f"{function.name}: unknown type '{param.type}' of '{param.name}'"
                sink.error("unknown-type", message, param.at("type"), fix=fix)


def _check_words(subject: Subject, function: Function, c_type: str, whose: str, span: Span, sink: Sink) -> None:
    """A C type is made of words of C and of types of the interface."""
    for word in re.findall(r"[A-Za-z_]\w*", re.sub(r"\bstruct \w+", "", c_type)):
        if not is_c_word(word) and word not in subject.c_types:
            fix = did_you_mean(word, subject.c_types) or "declare it in types.yaml"
            message = f"{function.name}: {whose} the type '{c_type}', but '{word}' is not declared"
            sink.error("unknown-type", message, span, fix=fix)


def _check_keys(function: Function, param: Parameter, sink: Sink) -> None:
    info = TYPES.get(param.type)
    is_value = info is None or not (info.has_dtype or info.has_shape)

    def misplaced(key: str, reason: str) -> None:
        message = f"{function.name}: '{key}' on '{param.name}': {reason}"
        sink.error("misplaced-key", message, param.at(key), fix=f"remove '{key}'")

    if param.dtype is not None and (info is None or not info.has_dtype):
        misplaced("dtype", f"the type {param.type} has no dtype")
    if param.shape is not None and (info is None or not info.has_shape):
        misplaced("shape", f"the type {param.type} has no shape")
    if param.values and param.type != "string":
        misplaced("values", "only a string has a list of accepted values")
    if param.count is not None and param.type not in _ARRAYS:
        misplaced("count", "only an array has a count")
    if param.const and not is_value and param.type not in _CONST:
        misplaced("const", f"the type {param.type} cannot be const by value")
    if param.c_type and param.type != "opaque":
        misplaced("c_type", f"the word {param.type} says it")
    if param.mutable and param.type not in _MUTABLE:
        misplaced("mutable", f"the type {param.type} is not passed by pointer")
    for known in param.keys:
        if param.type not in KEY_TYPES[known.name]:
            misplaced(known.name, _WHOSE[known.name])
    if any(known.name == "rank" for known in param.keys) and _has_one_rank(param):
        misplaced("rank", "the list of dimensions says how many there are")
    for key, way in (("domain", param.domain), ("typical", param.typical)):
        if way is not None and (param.type not in _SAMPLED or not param.is_read):
            misplaced(key, "only a tensor that is read has elements to draw")
    if param.unordered is not None and (param.type not in _ORDERED or param.is_read):
        misplaced("unordered", "only a tensor that is an output has an order of results")
    if param.ties is not None and (param.type not in _ORDERED or param.is_read):
        misplaced("ties", "only a tensor that is an output has an order of results")
    if "nullability" in param.free and (param.nullable or param.type not in _HANDLES):
        misplaced("free", "nullability is open only for a handle that is not nullable")
    if "dtype" in param.free and (info is None or not info.has_dtype):
        misplaced("free", f"the type {param.type} has no dtype")
    if {"shape", "device"} & set(param.free) and (info is None or not info.has_shape):
        misplaced("free", f"the type {param.type} is no tensor")
    if param.pointer and param.nullable:
        misplaced("pointer", "a nullable parameter is passed by pointer anyway")
    if param.type != "buffer":
        for key in ("elements", "of", "on", "in_place"):
            if key in param.spans:
                misplaced(key, "only a buffer has it")
    if info is None or function.family == "runtime":
        return
    if info.needs_count and param.count is None:
        message = f"{function.name}: array '{param.name}' has no 'count'"
        fix = "name the parameter that holds its length, or the length"
        open_entry(function, sink, "missing-count", message, param.span, fix)
    if info.has_shape and param.dtype is None and "dtype" not in param.spans:
        message = f"{function.name}: tensor '{param.name}' has no 'dtype'"
        open_entry(function, sink, "missing-dtype", message, param.span, "add 'dtype' with a list or a rule")
    only_written = param.direction in ("out", "partial_out")
    if info.has_shape and param.shape is None and "shape" not in param.spans and only_written:
        message = f"{function.name}: output '{param.name}' has no 'shape'"
        fix = "add 'shape' with a rule or a list of dimensions"
        open_entry(function, sink, "missing-shape", message, param.span, fix)


def _has_one_rank(param: Parameter) -> bool:
    """Returns whether the shape is a list without `*name`."""
    return isinstance(param.shape, ShapeList) and all(entry.kind != "variadic" for entry in param.shape.dimensions)


def _check_example(function: Function, param: Parameter, example: Default, is_scalar: bool, sink: Sink) -> None:
    """A tensor has an example for the variants that pass it as a scalar."""
    if not is_scalar:
        problem = f"no form of {function.operator} passes it as a scalar"
    elif not isinstance(example.value, (int, float)) or isinstance(example.value, bool):
        problem = "it is not a number"
    else:
        return
    message = f"{function.name}: the example of '{param.name}' is of no use: {problem}"
    sink.error("bad-example", message, example.span, fix="give a number that the suite passes, or remove 'example'")


def _check_default(subject: Subject, function: Function, param: Parameter, sink: Sink) -> None:
    problem = "" if param.default is None else misfit(subject, param, param.default)
    if problem and param.default is not None:
        message = f"{function.name}: the default of '{param.name}' is {problem}"
        sink.error("bad-default", message, param.default.span, fix="give a default that a caller could pass")


def misfit(subject: Subject, param: Parameter, default: Default) -> str:
    """Why a parameter cannot have a value; empty where it can."""
    value = default.value
    problem = ""
    if value is None:
        problem = "" if param.nullable else "null, but the parameter is not nullable"
    elif isinstance(value, tuple):
        if param.type != "sizes":
            problem = f"a list, but the type is {param.type}"
        elif not all(type(item) is int for item in value):
            problem = "not a list of integers"
    elif param.type == "bool":
        problem = "" if isinstance(value, bool) else "neither true nor false"
    elif param.type in INTEGERS:
        problem = "" if isinstance(value, int) and not isinstance(value, bool) else "not an integer"
    elif param.type == "sizes":
        problem = "not a list of integers"
    elif param.type in ("float", "double", "scalar"):
        problem = "" if isinstance(value, (int, float)) else "not a number"
    elif param.type == "string":
        problem = "" if not param.values or value in param.values else f"not one of {', '.join(param.values)}"
    elif param.type in subject.named_types:
        if subject.enum_values.get(str(value)) not in (param.type, None) or str(value) not in subject.enum_values:
            problem = f"not a value of {param.type}"
    else:
        problem = f"a value, but the type {param.type} has none"
    return problem
