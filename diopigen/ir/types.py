"""The types that a parameter can have, as a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """Properties of all parameters of one type."""

    name: str
    doc: str
    needs_direction: bool = False
    directions: tuple[str, ...] = ("in",)
    has_dtype: bool = False
    has_shape: bool = False
    needs_count: bool = False
    nullable: bool = True


_ALL = ("in", "out", "inout", "partial_out")
_VALUE = ("in", "out", "inout")

TYPES: dict[str, TypeInfo] = {
    info.name: info
    for info in (
        TypeInfo("tensor", "a tensor", True, _ALL, True, True),
        TypeInfo("tensors", "an array of tensors", True, _ALL, True, True, True),
        TypeInfo("new_tensor", "a tensor that the operator allocates", True, ("out",), True, True),
        TypeInfo("new_tensors", "tensors that the operator allocates", True, ("out",), True, True, True),
        TypeInfo("borrowed_tensor", "a tensor that another tensor owns", True, ("out",)),
        TypeInfo("scalar", "a number with its own dtype", False, _VALUE, True),
        TypeInfo("bool", "true or false", False, _VALUE),
        TypeInfo("int", "an int", False, _VALUE),
        TypeInfo("int32", "a 32-bit integer", False, _VALUE),
        TypeInfo("int64", "a 64-bit integer", False, _VALUE),
        TypeInfo("uint64", "a 64-bit unsigned integer", False, _VALUE),
        TypeInfo("size_t", "a size in bytes", False, _VALUE),
        TypeInfo("float", "a single precision number", False, _VALUE),
        TypeInfo("double", "a double precision number", False, _VALUE),
        TypeInfo("sizes", "a list of integers", False, ("in", "out")),
        TypeInfo("string", "a null-terminated string", False, ("in", "out")),
        TypeInfo("generator", "a random number generator", True, ("in", "inout")),
        TypeInfo("generators", "an array of generators", True, ("inout",), needs_count=True),
        TypeInfo("context", "the context of the call", False, ("in",)),
        TypeInfo("stream", "a stream", True, ("in", "out")),
        TypeInfo("buffer", "the address of elements on the device", True, _VALUE),
        TypeInfo("opaque", "a pointer to anything", False, ("in", "out", "inout")),
    )
}

NUMBERS = frozenset({"int", "int32", "int64", "uint64", "size_t", "float", "double"})
INTEGERS = frozenset({"int", "int32", "int64", "uint64", "size_t"})
TENSORS = frozenset({"tensor", "tensors", "new_tensor", "new_tensors", "borrowed_tensor"})
"""Types whose value is one tensor or several."""
STRUCT_WORDS = {"diopiSize_t": "sizes", "diopiScalar_t": "scalar"}
"""Structs that parameters have by a word of `TYPES` alone."""
