"""The alignments that C types have by themselves, on the target of every parse (64-bit Linux)."""

from __future__ import annotations

import re

from diopigen.header.cdecl import CInterface
from diopigen.header.type_expr import typedef_table

UNITS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t", 16: "long double"}
"""A type of each alignment, and of the same size."""

_POINTER = 8
_ALIGNMENTS = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char"), 1),
    **dict.fromkeys(("short", "unsigned short", "_Float16", "__bf16"), 2),
    **dict.fromkeys(("int", "unsigned int", "float", "wchar_t", "_Complex float"), 4),
    **dict.fromkeys(("long", "unsigned long", "long long", "unsigned long long", "double", "_Complex double"), 8),
    **dict.fromkeys(("long double", "__int128", "unsigned __int128", "_Complex long double"), 16),
}


class Alignments:
    """The alignment of each type of an interface."""

    def __init__(self, interface: CInterface) -> None:
        self._typedefs = typedef_table(interface)
        self._known = dict(_ALIGNMENTS)
        self._known.update((enum.name, _ALIGNMENTS.get(enum.underlying, 0)) for enum in interface.enums)
        structs = (struct for struct in interface.structs if not struct.opaque and struct.align in UNITS)
        self._known.update((struct.name, struct.align) for struct in structs)

    def of(self, c_type: str) -> int:
        """The alignment in bytes; 0 for a type that only its own declaration knows."""
        seen: set[str] = set()
        while "*" not in c_type and "(" not in c_type:
            name = " ".join(re.sub(r"\[.*|\b(?:const|volatile)\b", "", c_type).split())
            if name in self._known or name in seen:
                return self._known.get(name, 0)
            seen.add(name)
            c_type = self._typedefs.get(name, "")
        return _POINTER
