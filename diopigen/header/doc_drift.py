"""Where the comments of a header have drifted away from its declarations."""

from __future__ import annotations

from collections.abc import Mapping

from diopigen.diagnostics import Note, Sink, nearest
from diopigen.header.cdecl import CDoc, CDocParam, CFunction, CInterface, CParam
from diopigen.header.compare import moved, nearest_function
from diopigen.header.rules import WARNING, Reporter, Rule, Rules
from diopigen.header.type_expr import TypeExpr, parse_type, resolve, typedef_table

RULES: Rules = {
    "doc-unknown-parameter": Rule(WARNING, "a comment documents a parameter that the function does not have"),
    "doc-undocumented-parameter": Rule(WARNING, "a comment leaves out a parameter of its function"),
    "doc-direction": Rule(WARNING, "a comment gives a parameter the wrong direction, or no direction at all"),
    "doc-duplicate-parameter": Rule(WARNING, "a comment documents a parameter twice"),
    "doc-parameter-order": Rule(WARNING, "a comment documents the parameters in another order"),
    "doc-unknown-reference": Rule(WARNING, "a comment names a function that does not exist"),
}

_DIRECTIONS = {"in": "in", "out": "out", "in,out": "inout", "out,in": "inout", "inout": "inout"}

# What a comment may say for each curated direction. The part of a partial output that is not written keeps
# what it held, so that both forms are true of it.
_ALLOWED = {
    "in": ("in",),
    "out": ("out",),
    "inout": ("inout",),
    "partial_out": ("inout", "out"),
}
_WRITTEN = {"in": "[in]", "out": "[out]", "inout": "[in,out]"}


def doc_drift(interface: CInterface, sink: Sink, directions: Mapping[tuple[str, str], str] | None = None) -> None:
    """Reports where comments disagree with the functions that they stand before.

    `directions` maps (function, parameter) to the true direction: "in", "out", "inout" or "partial_out".
    A function without any comment is no finding: nothing there can mislead. The interface must have been read
    with its comments (`parse_headers(..., docs=True)`).
    """
    drift = _Drift(interface, sink, directions or {})
    for function in interface.functions:
        if function.doc is not None:
            drift.check(function, function.doc)


class _Drift:
    def __init__(self, interface: CInterface, sink: Sink, directions: Mapping[tuple[str, str], str]) -> None:
        self._report = Reporter(RULES, sink)
        self._directions = directions
        self._typedefs = typedef_table(interface)
        self._functions = {function.name for function in interface.functions}
        self._known = self._functions | interface.visible
        self._known |= {enum.name for enum in interface.enums} | {struct.name for struct in interface.structs}
        self._known |= {typedef.name for typedef in interface.typedefs}
        self._known |= {name for enum in interface.enums for name, _ in enum.values}
        self._known |= {name for name, _ in interface.macros}

    def check(self, function: CFunction, doc: CDoc) -> None:
        params = {param.name: param for param in function.params if param.name}
        documented = {entry.name for entry in doc.params}
        undocumented = [name for name in params if name not in documented]
        first: dict[str, CDocParam] = {}
        for entry in doc.params:
            if entry.name not in params:
                like = nearest(entry.name, undocumented)
                fix = f"did you mean '{like}'?" if like else "remove it"
                message = f"'{function.name}' has no parameter '{entry.name}'"
                self._report("doc-unknown-parameter", message, entry.span, fix=fix)
            elif entry.name in first:
                message = f"'{function.name}': parameter '{entry.name}' is documented twice"
                notes = [Note("first here", first[entry.name].span)]
                self._report("doc-duplicate-parameter", message, entry.span, notes=notes, fix="remove one of the two")
            else:
                first[entry.name] = entry
                self._direction(function, params[entry.name], entry)
        for name in undocumented:
            message = f"'{function.name}': parameter '{name}' is not documented"
            span = params[name].span or function.span
            self._report("doc-undocumented-parameter", message, span, fix=f"add '@param {name}' to the comment")
        for move in moved(list(params), list(first)):
            right = f"after '{move.expected_after}'" if move.expected_after else "first"
            message = f"'{function.name}': parameter '{move.name}' is documented out of order"
            self._report("doc-parameter-order", message, first[move.name].span, fix=f"document it {right}")
        for name, span in doc.references:
            if name not in self._known:
                like = nearest_function(name, self._functions)
                fix = f"did you mean '{like}'?" if like else "correct the name, or remove it"
                message = f"the comment of '{function.name}' names '{name}', which does not exist"
                self._report("doc-unknown-reference", message, span, fix=fix)

    def _direction(self, function: CFunction, param: CParam, entry: CDocParam) -> None:
        if not entry.direction:
            return
        label = f"'{function.name}': parameter '{param.name}'"
        said = _DIRECTIONS.get("".join(entry.direction.split()).lower())
        if said is None:
            message = f"{label} is documented as [{entry.direction}], which is no direction"
            self._report("doc-direction", message, entry.span, fix="write [in], [out] or [in,out]")
            return
        written = f"{label} is documented as {_WRITTEN[said]}"
        curated = self._directions.get((function.name, param.name))
        if curated is not None:
            allowed = _ALLOWED[curated]
            if said not in allowed:
                message = f"{written}, and is {curated}"
                self._report("doc-direction", message, entry.span, fix=f"write {_WRITTEN[allowed[0]]}")
            return
        if said == "in":
            return
        kind = parse_type(param.resolved) if param.resolved else resolve(param.type, self._typedefs)
        reason = _never_written(kind)
        if reason:
            message = f"{written}, but '{param.type}' {reason}"
            self._report("doc-direction", message, entry.span, fix="write [in]")


def _never_written(kind: TypeExpr) -> str | None:
    """Why a function cannot write through a parameter of this type; None where it can."""
    if kind.by_value:
        return "is passed by value"
    return "points to what is const" if kind.pointee_const else None
