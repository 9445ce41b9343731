"""Finds the places of a source that can be changed: libclang reads the unit, the bodies of functions are walked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lab.mutation.sources import operators
from lab.mutation.sources.model import Point
from lab.mutation.sources.operators import Cursor, Edit, Source, kind_of, span

_FUNCTIONS = ("FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION")
_SCOPES = (
    "NAMESPACE", "LINKAGE_SPEC", "UNEXPOSED_DECL", "CLASS_DECL", "STRUCT_DECL", "CLASS_TEMPLATE",
    "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION",
)  # fmt: skip
_BODIES = ("COMPOUND_STMT", "IF_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT", "SWITCH_STMT")
_AT_COMPILE_TIME = ("DECL_REF_EXPR", "TYPE_REF", "TEMPLATE_REF", "STATIC_ASSERT", "PARM_DECL", "OVERLOADED_DECL_REF")
"""Cursors below which there are template arguments, defaults and other things that no running code evaluates."""


def points_of(root: Cursor, sources: dict[str, Source], names: dict[str, str]) -> Iterator[Point]:
    """All changes within the functions below `root` that are defined in the files of `names`, by the path as libclang
    spells it to the name that points are to have. Each is given once."""
    walked: Walked = set()
    for child in root.get_children():
        file = child.location.file
        if file is None or file.name not in names:
            continue
        yield from _scope(child, sources[file.name], names[file.name], "", walked)


Walked = set[tuple[str, int, int]]
"""The bodies that have been read, by file and offsets: libclang lists instantiations behind what they are made of."""


def _scope(cursor: Cursor, source: Source, name: str, within: str, walked: Walked) -> Iterator[Point]:
    kind = kind_of(cursor)
    if kind in _FUNCTIONS:
        yield from _function(cursor, source, name, within, walked)
    elif kind in _SCOPES:
        inner = cursor.spelling if kind.startswith(("CLASS", "STRUCT")) else ""
        path = f"{within}{inner}::" if inner else within
        for child in cursor.get_children():
            yield from _scope(child, source, name, path, walked)


def _function(cursor: Cursor, source: Source, name: str, within: str, walked: Walked) -> Iterator[Point]:
    children = list(cursor.get_children())
    body = children[-1] if children and kind_of(children[-1]) == "COMPOUND_STMT" else None
    if body is None or re.search(r"\bconstexpr\b", source.text(span(cursor)[0], span(body)[0])):
        return
    body_key = (name, *span(body))
    # The body of a lambda belongs to the function around it, although its instantiations may be listed before that.
    if "grain" in cursor.spelling or cursor.semantic_parent.spelling.startswith("(lambda") or body_key in walked:
        return
    walked.add(body_key)
    owner = cursor.semantic_parent.spelling if kind_of(cursor) == "CXX_METHOD" and not within else ""
    function = f"{within}{owner + '::' if owner else ''}{cursor.spelling}"
    seen: set[tuple[int, int, str]] = set()
    alike: Counter[tuple[str, str, str]] = Counter()
    for edit in _Walk(source).statement_list(body):
        if not _is_sound(edit, source, span(body)) or (edit.start, edit.end, edit.replacement) in seen:
            continue
        seen.add((edit.start, edit.end, edit.replacement))
        before = source.data[: edit.start]
        line = before.count(b"\n") + 1
        column = edit.start - (before.rfind(b"\n") + 1) + 1
        original = source.text(edit.start, edit.end)
        reads = (edit.kind, original, edit.replacement)
        yield Point(
            name, edit.start, edit.end, edit.replacement, edit.kind, function, line, column, original, edit.statement,
            alike[reads],
        )  # fmt: skip
        alike[reads] += 1


def _is_sound(edit: Edit, source: Source, body: tuple[int, int]) -> bool:
    """Returns whether the change is within the body, is one, and holds no comment or directive."""
    texts = (source.text(edit.start, edit.end), edit.replacement)
    if not body[0] <= edit.start < edit.end <= body[1] or not edit.replacement:
        return False
    return texts[0].split() != texts[1].split() and not any("//" in text or "#" in text for text in texts)


class _Walk:
    """Collects edits below a cursor."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def statement_list(self, cursor: Cursor) -> Iterator[Edit]:
        """The statements of a block, or the parts of an `if` or of a loop."""
        kind = kind_of(cursor)
        children = list(cursor.get_children())
        if kind == "IF_STMT":
            yield from self._branch(cursor, children)
            return
        if kind == "FOR_STMT":
            yield from self._loop(children)
            return
        for index, child in enumerate(children):
            is_header = kind != "COMPOUND_STMT" and index < len(children) - 1
            yield from self.expression(child, None) if is_header else self.one(child)

    def one(self, cursor: Cursor) -> Iterator[Edit]:
        """Something in the place of a statement."""
        if kind_of(cursor) in _BODIES:
            yield from self.statement_list(cursor)
            return
        yield from operators.statement(cursor, self.source)
        if kind_of(cursor) in ("CASE_STMT", "DEFAULT_STMT"):
            children = list(cursor.get_children())
            yield from self.one(children[-1]) if children else ()
            return
        yield from self.expression(cursor, None)

    def _branch(self, cursor: Cursor, children: list[Cursor]) -> Iterator[Edit]:
        head = self.source.of(cursor)
        if not re.match(r"if\s+constexpr\b", head) and children:
            yield from operators.condition(children[0], self.source)
            yield from self.expression(children[0], None)
        for child in children[1:]:
            yield from self.one(child)

    def _loop(self, children: list[Cursor]) -> Iterator[Edit]:
        for child in children[:-1]:
            if kind_of(child) in ("BINARY_OPERATOR", "CALL_EXPR"):
                yield from operators.bound(child, self.source)
            yield from self.expression(child, None)
        if children:
            yield from self.one(children[-1])

    def expression(self, cursor: Cursor, parent: Cursor | None) -> Iterator[Edit]:
        """An expression and all below it."""
        kind = kind_of(cursor)
        if cursor.kind.is_attribute() or kind in ("TYPE_REF", "STATIC_ASSERT"):
            return
        if kind == "LAMBDA_EXPR":
            for child in cursor.get_children():
                if kind_of(child) == "COMPOUND_STMT":
                    yield from self.statement_list(child)
            return
        if kind in _BODIES:
            yield from self.statement_list(cursor)
            return
        if "LITERAL" in kind and parent is not None and kind_of(parent) in _AT_COMPILE_TIME:
            return
        if kind in ("BINARY_OPERATOR", "CALL_EXPR"):
            yield from operators.binary(cursor, self.source)
        if kind == "CALL_EXPR":
            yield from operators.call(cursor, self.source)
        elif kind in ("INTEGER_LITERAL", "FLOATING_LITERAL"):
            yield from operators.constant(cursor, self.source)
        elif kind == "CONDITIONAL_OPERATOR":
            yield from operators.conditional(cursor, self.source)
        elif kind == "UNARY_OPERATOR":
            yield from operators.unary(cursor, self.source)
        elif kind == "CXX_STATIC_CAST_EXPR":
            yield from operators.narrowing(cursor, self.source)
        for child in self._evaluated(cursor, kind):
            yield from self.expression(child, cursor)

    def _evaluated(self, cursor: Cursor, kind: str) -> Iterator[Cursor]:
        """The children that run: no sizes of arrays, no template arguments, nothing that is a matter of speed."""
        start = self._initialiser(cursor) if kind == "VAR_DECL" else 0
        if start is None:
            return
        grain = _grain(cursor, self.source) if kind == "CALL_EXPR" else None
        for child in cursor.get_children():
            if span(child)[0] >= start and (grain is None or not grain[0] <= span(child)[0] < grain[1]):
                yield child

    def _initialiser(self, cursor: Cursor) -> int | None:
        """Start of the initial value of a variable; None if there is none at run time."""
        start, end = span(cursor)
        at = int(cursor.location.offset)
        if "grain" in cursor.spelling or re.search(r"\bconstexpr\b", self.source.text(start, at)):
            return None
        after = re.match(rb"\w+\s*((?:\[[^\]]*\])*)\s*([={(:]?)", self.source.data[at:end])
        return at + after.end() if after is not None and after[2] else None


def _grain(cursor: Cursor, source: Source) -> tuple[int, int] | None:
    """The part of a call that says how much work a thread takes: it changes speed alone."""
    name = re.match(r"\w+", source.of(cursor))
    arguments = list(cursor.get_arguments())
    if name is not None and "grain" in name[0]:
        return span(cursor)
    index = _GRAINS.get(name[0], len(arguments)) if name is not None else len(arguments)
    return span(arguments[index]) if index < len(arguments) else None


_GRAINS = {"parallel_for": 1, "run_parallel": 1, "reduce_samples": 2, "each": 1, "Each": 2}
"""Index of the argument of a function with the grain size of threads or the cost of a step; an object that is called is
the first."""


def read(path: Path) -> Source:
    """A file as it is."""
    return Source(path.read_bytes())
