"""The order in which C needs structs and typedefs: a type comes after those that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Union

from diopigen.ir.c_types import HandleType, StructType

Declared = Union[StructType, HandleType]

_WORD = re.compile(r"[A-Za-z_]\w*")


def named_types(declared: Declared) -> Iterator[str]:
    """The words of the C types in a declaration."""
    types = [declared.c_type] if isinstance(declared, HandleType) else [field.c_type for field in declared.fields]
    return (word for c_type in types for word in _WORD.findall(c_type))


def in_order(structs: Iterable[StructType], handles: Iterable[HandleType]) -> tuple[list[Declared], list[str]]:
    """Structs, then handles, but each after what it names; and the structs that are named before they are declared."""
    known: dict[str, Declared] = {struct.name: struct for struct in structs}
    known |= {handle.name: handle for handle in handles}
    order: list[Declared] = []
    forward: dict[str, None] = {}
    entered: set[str] = set()
    # Each entry is a declaration with the words that are still to be followed; a chain of types may be long.
    for first in known.values():
        path = [(first, named_types(first))] if first.name not in entered else []
        entered.add(first.name)
        while path:
            word = next(path[-1][1], None)
            if word is None:
                order.append(path.pop()[0])
            elif word in known and word not in entered:
                entered.add(word)
                path.append((known[word], named_types(known[word])))
            elif any(word == open_one.name for open_one, _ in path) and isinstance(known[word], StructType):
                forward[word] = None
    return order, list(forward)
