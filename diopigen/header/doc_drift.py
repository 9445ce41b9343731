"""Comments of a header that contradict its declarations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from diopigen.diagnostics import Note, Sink, nearest
from diopigen.header.cdecl import CDocParam, CFunction, CInterface, CParam, documented_params
from diopigen.header.compare import nearest_function, quoted
from diopigen.header.rules import NOTE, WARNING, Reporter, Rule, Rules
from diopigen.header.type_expr import TypeExpr, parse_type, resolve, typedef_table

RULES: Rules = {
    "doc-unknown-parameter": Rule(WARNING, "a comment documents a parameter that the function does not have"),
    "doc-undocumented-parameter": Rule(WARNING, "a comment leaves out a parameter of its function"),
    "doc-direction": Rule(WARNING, "a comment gives a parameter the wrong direction, or no direction at all"),
    "doc-duplicate-parameter": Rule(WARNING, "a comment documents a parameter twice"),
    "doc-dtypes": Rule(WARNING, "a comment lists other dtypes for a parameter than the spec"),
    "doc-missing": Rule(WARNING, "a function has no comment"),
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
DTYPE_WORDS = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64"}
"""C's names for what the spec calls by width."""

_WRITTEN = {"in": "[in]", "out": "[out]", "inout": "[in,out]"}


Parameters = Mapping[tuple[str, str], str]
"""Documentation of (function, parameter) in the spec."""


def doc_drift(
    interface: CInterface,
    sink: Sink,
    directions: Parameters | None = None,
    dtypes: Mapping[tuple[str, str], Collection[str]] | None = None,
) -> None:
    """Reports where comments disagree with the functions that they are written before.

    `directions` maps (function, parameter) to the true direction: "in", "out", "inout" or "partial_out"; `dtypes` to
    all dtypes that the parameter can have. The order in which parameters are documented is free, and a parameter may be
    documented in the comment of another function that this one refers to. The interface must have been read with its
    comments (`parse_headers(..., docs=True)`).
    """
    drift = _Drift(interface, sink, directions or {}, dtypes or {})
    for function in interface.functions:
        drift.check(function)


class _Drift:
    def __init__(
        self,
        interface: CInterface,
        sink: Sink,
        directions: Parameters,
        dtypes: Mapping[tuple[str, str], Collection[str]],
    ) -> None:
        self._report = Reporter(RULES, sink)
        self._by_name = {function.name: function for function in interface.functions}
        self._directions = directions
        self._dtypes = dtypes
        self._typedefs = typedef_table(interface)
        self._functions = set(self._by_name)
        self._known = self._functions | interface.visible
        self._known |= {enum.name for enum in interface.enums} | {struct.name for struct in interface.structs}
        self._known |= {typedef.name for typedef in interface.typedefs}
        self._known |= {name for enum in interface.enums for name, _ in enum.values}
        self._known |= {name for name, _ in interface.macros}

    def check(self, function: CFunction) -> None:
        doc = function.doc
        if doc is None:
            fix = "say before it what it does, and what its parameters are"
            self._report("doc-missing", f"'{function.name}' has no comment", function.span, fix=fix)
            return
        params = {param.name: param for param in function.params if param.name}
        documented = documented_params(self._by_name, function)
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
                self._dtype_list(function, entry)
        for name in undocumented:
            where = f", nor by {quoted(doc.elsewhere)}" if doc.elsewhere else ""
            message = f"'{function.name}': parameter '{name}' is not documented{where}"
            span = params[name].span or function.span
            self._report("doc-undocumented-parameter", message, span, fix=f"add '@param {name}' to the comment")
        for name, span in doc.references:
            if name not in self._known:
                like = nearest_function(name, self._functions)
                fix = f"did you mean '{like}'?" if like else "correct the name, or remove it"
                message = f"the comment of '{function.name}' names '{name}', which does not exist"
                self._report("doc-unknown-reference", message, span, fix=fix)

    def _direction(self, function: CFunction, param: CParam, entry: CDocParam) -> None:
        label = f"'{function.name}': parameter '{param.name}'"
        if not entry.direction:
            known = self._directions.get((function.name, param.name))
            words = _WRITTEN[_ALLOWED[known][0]] if known else "[in], [out] or [in,out]"
            message = f"{label} is documented without a direction"
            self._report("doc-direction", message, entry.span, fix=f"write @param{words}")
            return
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

    def _dtype_list(self, function: CFunction, entry: CDocParam) -> None:
        curated = self._dtypes.get((function.name, entry.name))
        if not entry.dtypes or curated is None:
            return
        said = [DTYPE_WORDS.get(word, word) for word in entry.dtypes]
        more = [word for word in dict.fromkeys(said) if word not in curated]
        less = [word for word in curated if word not in said]
        if not more and not less:
            return
        parts = [f"{', '.join(more)} only in the comment"] * bool(more) + [
            f"{', '.join(less)} only in the spec"
        ] * bool(less)
        message = f"'{function.name}': dtypes of parameter '{entry.name}' differ: {'; '.join(parts)}"
        # A list that is too short rejects no call that works.
        severity = None if more else NOTE
        fix = "correct the list in the comment, or the dtypes in the spec"
        self._report("doc-dtypes", message, entry.span, fix=fix, severity=severity)


def _never_written(kind: TypeExpr) -> str | None:
    """Why a function cannot write through a parameter of this type; None where it can."""
    if kind.by_value:
        return "is passed by value"
    return "points to what is const" if kind.pointee_const else None
