"""Values of the enumerators of an interface."""

from __future__ import annotations

from diopigen.ir.model import Interface


def enumerators(interface: Interface) -> dict[str, int]:
    """All enumerators by name."""
    return {value.name: value.value for enum in interface.enums for value in enum.values}


def dtype_codes(interface: Interface) -> dict[str, int]:
    """The dtypes by their names in the spec."""
    values = enumerators(interface)
    return {info.name: values[info.enum] for info in interface.dtypes}
