"""Declarations of an interface in addition to its operators: types, dtypes, device functions and its version."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from diopigen.diagnostics import Span

_POINTER = re.compile(r"(.*\w[* ]*)[*&](?: ?(?:const|restrict|__restrict))*")


def is_written_through(c_type: str) -> bool:
    """Returns whether a function can write through a parameter of this type: a pointer or reference to what is not
    const."""
    found = _POINTER.fullmatch(c_type)
    if found is None:
        return False
    # In `T *const *` the const is that of the pointer that is pointed to.
    inner = found[1].rstrip()
    return not inner.endswith("const") and ("*" in inner or "const" not in inner.split())


@dataclass(frozen=True, slots=True)
class EnumValue:
    """A value of an enum."""

    name: str
    value: int
    doc: str
    span: Span = field(compare=False)
    alias: bool = False
    """True if a value before it has the same number."""


@dataclass(frozen=True, slots=True)
class EnumType:
    """An enum of the interface."""

    name: str
    doc: str
    values: tuple[EnumValue, ...]
    span: Span
    header: str = ""
    """The header that declares it; empty for that of all types."""


@dataclass(frozen=True, slots=True)
class StructField:
    """A member; members at one offset are the alternatives of an anonymous union."""

    name: str
    c_type: str
    offset: int
    doc: str


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct of the interface; size and alignment in bytes."""

    name: str
    doc: str
    size: int
    align: int
    fields: tuple[StructField, ...]
    span: Span
    header: str = ""
    """The header that declares it; empty for that of all types."""


@dataclass(frozen=True, slots=True)
class HandleType:
    """A typedef of an opaque pointer or a plain type."""

    name: str
    doc: str
    c_type: str
    span: Span
    header: str = ""
    """The header that declares it; empty for that of all types."""


@dataclass(frozen=True, slots=True)
class DtypeInfo:
    """An element type: its enum value, bytes per element and kind; numbers are 0 and names empty where it has none."""

    name: str
    enum: str
    bytes: int
    kind: str
    span: Span = field(compare=False)
    enum_span: Span = field(compare=False)
    digits: int = 0
    """Bits of the significand, the hidden one included."""
    exponent: int = 0
    """Bits of the exponent."""
    largest: int = 0
    """The largest element of a dtype whose highest exponent is not that of infinity."""
    compute: str = ""
    """The dtype that elements are computed in, as `at::opmath_type`."""
    real: str = ""
    complex: str = ""
    c: str = ""
    numpy: str = ""
    """The NumPy dtype of the stored bytes."""
    aten: str = ""
    """The value of `at::ScalarType`."""
    dlpack: int = 0
    """The value of DLDataTypeCode, where the kind does not determine it."""


@dataclass(frozen=True, slots=True)
class DtypeSet:
    """A named set of dtypes."""

    name: str
    doc: str
    dtypes: tuple[str, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class DeviceParameter:
    """A parameter of a device function."""

    name: str
    c_type: str
    doc: str


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function that a vendor registers for the host runtime."""

    name: str
    doc: str
    returns: str
    params: tuple[DeviceParameter, ...]
    register: str
    linked_name: str
    missing_error: str


@dataclass(frozen=True, slots=True)
class Version:
    """The version of the interface."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"
