"""A C declaration as HTML: names of parameters and types marked and linked."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from diopigen.emit.docs.links import TYPES_PAGE, to
from diopigen.ir.model import Function, Interface

_WORD = re.compile(r"[A-Za-z_]\w*")


def marked_signature(function: Function, declaration: str, interface: Interface, page: str) -> Markup:
    """The declaration of a function for the page at `page`. A parameter is a word before a comma or a parenthesis."""
    params = {param.name for param in function.params}
    types = type_names(interface)
    parts: list[Markup] = []
    end = 0
    for found in _WORD.finditer(declaration):
        word = found[0]
        parts.append(escape(declaration[end : found.start()]))
        end = found.end()
        if word in params and declaration[end : end + 1] in (",", ")", "["):
            anchor = f"{function.name}.{word}"
            parts.append(Markup('<a class="p" href="#{}">{}</a>').format(anchor, word))
        elif word in types:
            parts.append(Markup('<a class="t" href="{}">{}</a>').format(to(TYPES_PAGE, page, word), word))
        elif word == function.name:
            parts.append(Markup('<b class="f">{}</b>').format(word))
        else:
            parts.append(escape(word))
    return Markup("").join([*parts, escape(declaration[end:])])


def type_names(interface: Interface) -> frozenset[str]:
    """The types that the page of types describes."""
    enums, structs = (one.name for one in interface.enums), (one.name for one in interface.structs)
    return frozenset((*enums, *structs, *(one.name for one in interface.handles)))
