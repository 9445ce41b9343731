"""Reads the two lists next to the sources: faults with a name, and changes that are no faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from diopigen.diagnostics import Sink, Span
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode
from diopigen.spec.schema import BooleanShape, Field, ListShape, RecordShape, TextShape, validate
from diopigen.spec.yaml_reader import load_yaml
from lab.mutation.sources.model import Point

_TEXT = TextShape()
NAMED = RecordShape(
    "named faults",
    {
        "faults": Field(
            ListShape(
                RecordShape(
                    "fault",
                    {
                        "name": Field(_TEXT, "a name in kebab-case", required=True),
                        "sentence": Field(_TEXT, "what the library then does", required=True),
                        "file": Field(_TEXT, "the source, below the root", required=True),
                        "find": Field(_TEXT, "the code, which the file has once", required=True),
                        "replace": Field(_TEXT, "what comes in its place", required=True),
                        "statement": Field(BooleanShape(), "whether it is a statement, not an expression"),
                    },
                )
            ),
            "the faults",
            required=True,
        )
    },
)
"""The grammar of the list of named faults."""
WAIVERS = RecordShape(
    "waivers",
    {
        "equivalent": Field(
            ListShape(
                RecordShape(
                    "waiver",
                    {
                        "file": Field(_TEXT, "a glob over sources, below the root", required=True),
                        "function": Field(_TEXT, "a glob over functions"),
                        "code": Field(_TEXT, "a glob over what is changed", required=True),
                        "becomes": Field(_TEXT, "a glob over what comes in its place"),
                        "reason": Field(_TEXT, "why no case can tell the difference", required=True),
                    },
                )
            ),
            "changes that no case can find",
            required=True,
        )
    },
)
"""The grammar of the list of waivers."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """Changes that make no difference, and the argument for that."""

    file: str
    function: str
    code: str
    becomes: str
    reason: str
    span: Span

    def is_about(self, point: Point) -> bool:
        """Returns whether a change is one of these."""
        pairs = (
            (point.file, self.file), (point.function, self.function), (point.original, self.code),
            (point.replacement, self.becomes),
        )  # fmt: skip
        return all(_matches(text, glob) for text, glob in pairs)


def _matches(text: str, glob: str) -> bool:
    """Brackets are code, not sets of characters."""
    flat, expected = " ".join(text.split()), " ".join(glob.split())
    return flat == expected or fnmatchcase(flat, expected.replace("[", "[[]"))


def waivers(path: Path, display: str, sink: Sink) -> list[Waiver]:
    """The waivers of a file. What is wrong with it goes to `sink`."""
    found = []
    for entry in _entries(path, display, WAIVERS, "equivalent", sink):
        text = {name: _text(entry.get(name)) for name in ("file", "function", "code", "becomes", "reason")}
        globs = (text["file"], text["function"] or "*", text["code"], text["becomes"] or "*")
        found.append(Waiver(*globs, text["reason"], entry.span))
    return found


def idle(found: Sequence[Waiver], points: Sequence[Point], sink: Sink) -> None:
    """Names waivers that are about none of the points, which must be all of the sources."""
    for waiver in found:
        if not any(waiver.is_about(point) for point in points):
            fix = "bring it to what the source reads now, or take it out"
            sink.warning(
                "waiver-idle", f"no change of the sources is '{waiver.code}' in {waiver.file}", waiver.span, fix=fix
            )


def named(path: Path, display: str, files: Mapping[str, bytes], sink: Sink) -> list[Point]:
    """The named faults of a file as points; their kind is `named` and their function their name. What does not occur
    once in its source goes to `sink`."""
    found = []
    for entry in _entries(path, display, NAMED, "faults", sink):
        name, file, find = (_text(entry.get(key)) for key in ("name", "file", "find"))
        data, expected = files.get(file, b""), find.strip().encode()
        times = data.count(expected)
        if times != 1:
            fix = "bring `file` and `find` to what the source reads now"
            sink.error("named-fault", f"{file} has the code of '{name}' {times} times, not once", entry.span, fix=fix)
            continue
        start = data.index(expected)
        before = data[:start]
        statement = entry.get("statement")
        found.append(
            Point(
                file,
                start,
                start + len(expected),
                _text(entry.get("replace")).strip(),
                "named",
                name,
                before.count(b"\n") + 1,
                start - (before.rfind(b"\n") + 1) + 1,
                find.strip(),
                isinstance(statement, ScalarNode) and bool(statement.value),
            )
        )
    return found


def _entries(path: Path, display: str, shape: RecordShape, key: str, sink: Sink) -> list[MappingNode]:
    root = load_yaml(path, display, sink)
    if root is None or not validate(root, shape, f"the file of {shape.name}", sink):
        return []
    assert isinstance(root, MappingNode)
    entries = root.get(key)
    items = entries.items if isinstance(entries, SequenceNode) else ()
    return [item for item in items if isinstance(item, MappingNode)]


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, ScalarNode) else ""
