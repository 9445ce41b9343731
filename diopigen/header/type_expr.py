"""C types as values: enough of the grammar to look behind typedefs and to tell a change of const from a change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from diopigen.header.cdecl import CInterface, canonical_type

# What the fixed-width names stand for on the target of every parse (64-bit Linux).
_STANDARD = {
    "int8_t": "signed char",
    "int16_t": "short",
    "int32_t": "int",
    "int64_t": "long",
    "uint8_t": "unsigned char",
    "uint16_t": "unsigned short",
    "uint32_t": "unsigned int",
    "uint64_t": "unsigned long",
    "size_t": "unsigned long",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "unsigned": "unsigned int",
}
_TOKEN = re.compile(r"\w+|[*]")


@dataclass(frozen=True, slots=True)
class TypeExpr:
    """A base type and the pointers on it: `const T *const *` is base `T`, const, pointers (True, False).

    Types that this grammar does not cover (function pointers, references) are one opaque base.
    """

    base: str
    const: bool = False
    pointers: tuple[bool, ...] = ()

    def __str__(self) -> str:
        text = f"const {self.base}" if self.const else self.base
        if self.pointers:
            text += " " + "".join("*const " if const else "*" for const in self.pointers).rstrip()
        return text

    @property
    def by_value(self) -> bool:
        return not self.pointers and "*" not in self.base

    @property
    def top_const(self) -> bool:
        """Returns whether the value itself is const: no part of a function's type in C."""
        return self.pointers[-1] if self.pointers else self.const

    @property
    def pointee_const(self) -> bool:
        """Returns whether what the outermost pointer points to is const."""
        if not self.pointers:
            return False
        return self.pointers[-2] if len(self.pointers) > 1 else self.const

    def without_top_const(self) -> TypeExpr:
        if self.pointers:
            return TypeExpr(self.base, self.const, (*self.pointers[:-1], False))
        return TypeExpr(self.base, False)

    def without_const(self) -> TypeExpr:
        return TypeExpr(self.base, False, (False,) * len(self.pointers))


def accepts(parameter: TypeExpr, argument: TypeExpr) -> bool:
    """Returns whether C converts an argument to a parameter by adding const alone: behind the outermost pointer only,
    as C (unlike C++) converts nothing deeper."""
    if parameter.without_const() != argument.without_const() or not parameter.pointers:
        return parameter.without_top_const() == argument.without_top_const()
    inner, argument_type = (parameter.pointers[:-1], parameter.const), (argument.pointers[:-1], argument.const)
    if parameter.pointers[:-1]:
        deeper = (*inner[0][:-1], inner[1]) == (*argument_type[0][:-1], argument_type[1])
        return deeper and parameter.pointee_const >= argument.pointee_const
    return parameter.const >= argument.const


def parse_type(spelling: str) -> TypeExpr:
    """Reads a type in any spelling. An array counts as the pointer that it decays to as a parameter."""
    text = canonical_type(spelling)
    text = re.sub(r"^([^()\[\]]*[\w*])\s*\[[^\]]*\]$", r"\1 *", text)
    if not re.fullmatch(r"[\w\s*]+", text):
        return TypeExpr(text)
    base: list[str] = []
    const = False
    pointers: list[bool] = []
    for token in _TOKEN.findall(text):
        if token == "*":
            pointers.append(False)
        elif token == "const" and pointers:
            pointers[-1] = True
        elif token == "const":
            const = True
        elif token not in ("restrict", "__restrict", "volatile"):
            base.append(token)
    return TypeExpr(" ".join(base), const, tuple(pointers))


def typedef_table(*interfaces: CInterface) -> dict[str, str]:
    """Typedef name to what it stands for; where interfaces disagree the first one wins."""
    table = dict(_STANDARD)
    for interface in reversed(interfaces):
        table.update((typedef.name, typedef.underlying) for typedef in interface.typedefs)
    return table


def resolve(spelling: str, typedefs: Mapping[str, str]) -> TypeExpr:
    """The type behind all typedefs. A name that the table lacks stays as it is."""
    expression = parse_type(spelling)
    seen: set[str] = set()
    while expression.base in typedefs and expression.base not in seen:
        seen.add(expression.base)
        inner = parse_type(typedefs[expression.base])
        if inner.pointers:
            # `const T` of a pointer typedef makes the pointer const, not what it points to.
            outermost = inner.pointers[-1] or expression.const
            pointers = (*inner.pointers[:-1], outermost, *expression.pointers)
            expression = TypeExpr(inner.base, inner.const, pointers)
        else:
            expression = TypeExpr(inner.base, inner.const or expression.const, expression.pointers)
    return expression
