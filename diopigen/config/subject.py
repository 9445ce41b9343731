"""Context of the rules about a configuration: the file, the interface with its indexes, and the vendor's kernels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from diopigen.config.entries import ConfigFile, Entry
from diopigen.config.grammar import convertible, is_configurable
from diopigen.ir.c_types import DtypeInfo
from diopigen.ir.model import Function, Interface

HELPERS: Mapping[str, str] = {
    "diopiCastDtype": "dtypes are converted",
    "diopiContiguous": "layouts are converted",
    "diopiCopyInp": "results are written back to tensors of another layout",
}
"""The operators that shims call, each with what for. Their own tensors are never converted."""

ABOUT_FORMATS = frozenset({"diopiNativeMemoryFormatCast", "diopiGetNativeMemoryFormat"})


class Subject:
    """A configuration under check. `renamed` are old names of functions to new ones."""

    def __init__(
        self,
        config: ConfigFile,
        interface: Interface,
        vendor: str,
        implemented: Collection[str],
        renamed: Mapping[str, str],
    ) -> None:
        self.renamed = renamed
        self.config = config
        self.interface = interface
        self.vendor = vendor
        self.implemented = frozenset(implemented)

    @cached_property
    def operators(self) -> Mapping[str, Function]:
        """The functions that can be named."""
        return {function.name: function for function in self.interface.functions if is_configurable(function)}

    @cached_property
    def families(self) -> Mapping[str, tuple[Function, ...]]:
        """The families that can be named, with their functions."""
        found: dict[str, tuple[Function, ...]] = {}
        for function in self.operators.values():
            found[function.family] = (*found.get(function.family, ()), function)
        return found

    @cached_property
    def dtypes(self) -> Mapping[str, DtypeInfo]:
        return {dtype.name: dtype for dtype in self.interface.dtypes}

    def function_of(self, entry: Entry) -> Function | None:
        """The function that an entry is about, None for other levels and unknown names."""
        return self.operators.get(entry.name.text) if entry.level == "operator" else None


def cannot_convert(function: Function) -> str | None:
    """Why no rule can hold for a function, or None where one can."""
    if function.name in HELPERS:
        return "shims call it to convert, so that its own tensors cannot be converted"
    if function.name in ABOUT_FORMATS:
        return "it is about the layout itself"
    if not convertible(function):
        return "it has no tensors"
    return None
