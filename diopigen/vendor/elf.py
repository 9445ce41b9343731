"""The dynamic symbols of a shared library (ELF, 64 bits, little-endian), read without other tools."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from diopigen.diagnostics import failure
from diopigen.spec.text_file import read_regular, unreadable

RULES = {"library-unreadable": "a library that is looked at is a shared library of this kind of machine"}

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SHARED = 3
_DYNAMIC_SYMBOLS = 11
_WEAK = 2


@dataclass(frozen=True, slots=True)
class Symbols:
    """Names that a library exports, and names that it needs from elsewhere: weakly, or at any price."""

    defined: frozenset[str]
    weak: frozenset[str]
    needed: frozenset[str]


def read_symbols(path: Path) -> Symbols:
    """The dynamic symbols of a library. Raises `Failure` where the file is none."""
    try:
        data = read_regular(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, unreadable(error)) from None
    try:
        return _symbols(data)
    except (struct.error, IndexError, ValueError) as error:
        raise _unreadable(path, str(error)) from None


def _symbols(data: bytes) -> Symbols:
    ident, kind, *_, section_offset, _flags, _, _, _, size, count, _ = _HEADER.unpack_from(data)
    if ident[:6] != b"\x7fELF\x02\x01":
        raise ValueError("it is no ELF file of 64 bits")
    if kind != _SHARED:
        raise ValueError("it is no shared library")
    sections = [_SECTION.unpack_from(data, section_offset + k * size) for k in range(count)]
    table = next((section for section in sections if section[1] == _DYNAMIC_SYMBOLS), None)
    if table is None:
        return Symbols(frozenset(), frozenset(), frozenset())
    names = sections[table[6]][4]
    defined, weak, needed = set(), set(), set()
    for index in range(table[4], table[4] + table[5], _SYMBOL.size):
        name_at, info, _, section, _, _ = _SYMBOL.unpack_from(data, index)
        start = names + name_at
        name = data[start : data.index(b"\0", start)].decode(errors="replace")
        if not name:
            continue
        if section != 0:
            defined.add(name)
        elif info >> 4 == _WEAK:
            weak.add(name)
        else:
            needed.add(name)
    return Symbols(frozenset(defined), frozenset(weak), frozenset(needed))


def _unreadable(path: Path, reason: str) -> Exception:
    fix = "name the library that the build made"
    return failure("library-unreadable", f"'{path}' cannot be read as a library: {reason}", fix=fix)
